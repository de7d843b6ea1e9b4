import type { Database } from "../database/database.ts";

/** An operator's request, as the audit trail records it. */
interface NewAction {
  /** Identifies the token: the first characters of its SHA-256. */
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
}

/** The audit trail: changes by operators, in rows that cannot be changed. */
export interface OperatorActions {
  /** Records an action before it runs. If it rejects, do not run the action. */
  begin(action: NewAction): Promise<bigint>;
  /** Completes the record with the status of the reply. */
  end(id: bigint, status: number): Promise<void>;
  /** Returns actions, newest first. */
  list(query: ActionQuery): Promise<OperatorAction[]>;
}

/** The audit trail of operator actions. The database refuses to change its rows, except to add a result. */
export class AuditTrail implements OperatorActions {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

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

  async end(id: bigint, status: number): Promise<void> {
    await this.database.query("update operator_actions set status = $2 where id = $1", [
      id,
      status,
    ]);
  }

  async list({ limit, before, accountId }: ActionQuery): Promise<OperatorAction[]> {
    const rows = await this.database.query<OperatorAction & { details: string }>(
      `select id, at, operator, remote_address as "remoteAddress", action, account_id as "accountId",
        details, status
      from operator_actions
      where ($2::bigint is null or id < $2) and ($3::uuid is null or account_id = $3)
      order by id desc limit $1`,
      [limit, before ?? null, accountId ?? null],
    );
    return rows.map((row) => ({ ...row, details: JSON.parse(row.details) }));
  }
}
