import type { Database } from "../database/database.ts";

/** An operator's request, as the audit trail records it. */
interface NewAction {
  /** A person's e-mail address, or the name of a token; of the shared token the first characters of its SHA-256. */
  readonly operator: string;
  readonly remoteAddress: string;
  /** Method and route, `POST /admin/v1/accounts/:account/suspend`. */
  readonly action: string;
  readonly accountId: string | null;
  /** The request's parameters and fields. */
  readonly details: Readonly<Record<string, unknown>>;
}

interface OperatorAction extends NewAction {
  readonly id: bigint;
  readonly at: Date;
  /** The status of the reply. Null if unknown: the action may or may not have been applied. */
  readonly status: number | null;
}

interface ActionQuery {
  readonly limit: number;
  readonly before?: bigint | undefined;
  readonly accountId?: string | undefined;
  readonly operator?: string | undefined;
}

export type OperatorActions = Pick<AuditTrail, "begin" | "end" | "list">;

/** The audit trail: changes by operators. The database refuses to change its rows, except to add a result. */
export class AuditTrail {
  constructor(private readonly database: Database) {}

  /** Records an action before it runs. If it rejects, do not run the action. */
  async begin(action: NewAction): Promise<bigint> {
    const { operator, remoteAddress, accountId, details } = action;
    const [row] = await this.database.query<{ id: bigint }>(
      `insert into operator_actions (operator, remote_address, action, account_id, details)
      values ($1, $2, $3, $4, $5) returning id`,
      [operator, remoteAddress, action.action, accountId, JSON.stringify(details)],
    );
    if (!row) throw new Error("the database did not record an operator action");
    return row.id;
  }

  /** Completes the record with the status of the reply. */
  async end(id: bigint, status: number): Promise<void> {
    await this.database.query("update operator_actions set status = $2 where id = $1", [
      id,
      status,
    ]);
  }

  /** Returns actions, newest first. */
  async list({ limit, before, accountId, operator }: ActionQuery): Promise<OperatorAction[]> {
    const rows = await this.database.query<OperatorAction & { details: string }>(
      `select id, at, operator, remote_address as "remoteAddress", action, account_id as "accountId",
        details, status
      from operator_actions
      where ($2::bigint is null or id < $2) and ($3::uuid is null or account_id = $3)
        and ($4::text is null or operator = $4)
      order by id desc limit $1`,
      [limit, before ?? null, accountId ?? null, operator ?? null],
    );
    return rows.map((row) => ({ ...row, details: JSON.parse(row.details) }));
  }
}
