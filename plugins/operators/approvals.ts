import { createHash, randomBytes } from "node:crypto";
import {
  failpoint,
  formatVnd,
  isRefusal,
  MICRO_VND_PER_VND,
  newId,
  objectOf,
  parseJson,
  type Refusal,
  type Router,
  refuse,
  roles,
  type Services,
} from "../../core/plugin/index.ts";
import type { Options } from "./options.ts";
import type { Operator } from "./role.ts";
import { isNamedToken } from "./tokens.ts";

const DAY_MS = 24 * 3_600_000;
/** A request that waits for longer is void. */
const VALID_MS = 7 * DAY_MS;
/** More than people can decide. */
const PENDING_MAX = 1_000;
/** An approved request is carried out by the process that approved it; after this time by any. */
const STUCK_MS = 5_000;
/** "Precondition required": the audit trail tells it from a refusal. */
const WAITS = 428;
/** Replies that say nothing about the movement, such as that this process stops. */
const TRY_AGAIN = [401, 403, 429];

export const STATES = ["pending", "approved", "done", "failed", "refused", "expired"] as const;
type State = (typeof STATES)[number];
type Movement = Parameters<Services["operators"]["current"]["approval"]>[0];

export interface Approval {
  readonly id: string;
  readonly reference: string | null;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Null: of vouchers, which any customer may redeem. */
  readonly accountId: string | null;
  readonly amountMicroVnd: bigint;
  readonly reason: string | null;
  readonly proposedBy: string;
  readonly proposedPerson: string;
  readonly proposedAt: Date;
  readonly state: State;
  readonly decidedBy: string | null;
  readonly decidedPerson: string | null;
  readonly decidedAt: Date | null;
  readonly note: string | null;
}

const COLUMNS = `id, reference, method, path, body, account_id as "accountId", amount as "amountMicroVnd", reason,
  proposed_by as "proposedBy", proposed_person as "proposedPerson", proposed_at as "proposedAt", state,
  decided_by as "decidedBy", decided_person as "decidedPerson", decided_at as "decidedAt", note`;

/**
 * Movements of money that need a second person. The request that asked for one waits as a row. Once another person
 * approves it, it is sent again to its own route, in this process, as that person's: the reference in the ledger, or the
 * total of a correction, makes it count once, however often that happens.
 */
export class Approvals {
  /** Who sends the requests that are being carried out, by a token that lives as long. */
  private readonly passes = new Map<string, Operator>();
  private router: Router | undefined;
  /** How many movements wait, as of the last sweep. */
  pending = 0;
  /** When the newest of them was asked for. */
  newest: Date | undefined;

  constructor(
    private readonly services: Services,
    private readonly options: Options,
  ) {}

  /** Sets the router with the routes that move money. */
  use(router: Router): void {
    this.router = router;
  }

  ofPass(token: string): Operator | undefined {
    return this.passes.get(token);
  }

  /** Returns a refusal while a movement waits for a second person; undefined if it may be made now. */
  async needed(movement: Movement): Promise<Refusal | undefined> {
    const { operator, accountId, amountMicroVnd } = movement;
    if (this.isWithinBound(operator, amountMicroVnd)) return undefined;
    const { approved } = operator;
    if (approved) {
      const isIt =
        approved.accountId === accountId &&
        approved.amountMicroVnd > 0n === amountMicroVnd > 0n &&
        sizeOf(amountMicroVnd) <= sizeOf(approved.amountMicroVnd);
      return isIt ? undefined : refuse.conflict("The movement is another one than was approved.");
    }
    const proposed = await this.propose(movement);
    if (proposed === undefined) return undefined;
    if (proposed === "full") {
      return refuse.conflict(
        `${PENDING_MAX} movements wait for a second person; decide some first.`,
        {
          code: "approvals_full",
        },
      );
    }
    const isSame = proposed.accountId === accountId && proposed.amountMicroVnd === amountMicroVnd;
    if (!isSame) return sameReference();
    const bound = formatVnd(this.boundMicroVnd(operator));
    const message =
      `More than ${bound} đ needs a second person. Nothing has changed yet: it waits as approval ${proposed.id}, ` +
      "for another operator with the right. `approval list` lists what waits.";
    return refuse.as(WAITS, "invalid_request_error", message, { code: "approval_needed" });
  }

  list(state: State | undefined, limit: number, before: string | undefined): Promise<Approval[]> {
    return this.services.database.query(
      `select ${COLUMNS} from operator_approvals
      where ($1::text is null or state = $1) and ($2::uuid is null or id < $2) order by id desc limit $3`,
      [state ?? null, before ?? null, limit],
    );
  }

  async find(id: string): Promise<Approval | undefined> {
    const [found] = await this.services.database.query<Approval>(
      `select ${COLUMNS} from operator_approvals where id = $1`,
      [id],
    );
    return found;
  }

  /** Approves a request, and carries it out. Of many who approve it at once, one does. */
  async approve(
    id: string,
    operator: Operator,
    remoteAddress: string,
  ): Promise<Approval | Refusal> {
    const decided = await this.decide(id, operator, "approved", null);
    if (decided) {
      failpoint("approval.approved");
      const made = await this.carryOut(decided, remoteAddress);
      if (isRefusal(made) || made.state !== "failed") return made;
      return refuse.conflict(`It is approved, but was not made. ${made.note ?? ""}`, {
        code: "approval_failed",
      });
    }
    const found = await this.find(id);
    const isApproved = found?.state === "approved" || found?.state === "done";
    return isApproved && found.proposedPerson !== operator.person ? found : this.undecided(found);
  }

  /** Refuses a request. Its proposer withdraws it so, even without the right to decide. */
  async refuse(id: string, operator: Operator, note: string): Promise<Approval | Refusal> {
    const decided = await this.decide(id, operator, "refused", note);
    if (decided) return decided;
    const found = await this.find(id);
    const isOthers = found?.state === "pending" && found.proposedPerson !== operator.person;
    return isOthers && !roles.allow(operator.role, "money")
      ? refuse.forbidden("Another person has asked for it.", { code: "role_forbids" })
      : this.undecided(found);
  }

  /** Ends what waits for the request of this path: there is nothing to decide. */
  async withdraw(path: string, note: string): Promise<void> {
    await this.services.database.query(
      `update operator_approvals set state = 'expired', decided_at = $2, note = $3
      where path = $1 and state = 'pending'`,
      [path, this.now(), note],
    );
  }

  /** Carries out what was approved by a process that is gone, and ends what has waited for too long. */
  async sweep(): Promise<void> {
    const { database, clock } = this.services;
    await database.query(
      "update operator_approvals set state = 'expired', decided_at = $1 where state = 'pending' and proposed_at <= $2",
      [this.now(), this.voidSince()],
    );
    const stuck = await database.query<Approval>(
      `select ${COLUMNS} from operator_approvals where state = 'approved' and decided_at <= $1 order by id limit 100`,
      [new Date(clock.now() - STUCK_MS)],
    );
    for (const approval of stuck) await this.carryOut(approval, "approval");
    const [row] = await database.query<{ count: number; newest: Date | null }>(
      "select count(*)::integer as count, max(proposed_at) as newest from operator_approvals where state = 'pending'",
    );
    this.pending = row?.count ?? 0;
    this.newest = row?.newest ?? undefined;
  }

  /** Sends the request of an approved row again. Resolves with the row as it is then. */
  private async carryOut(approval: Approval, remoteAddress: string): Promise<Approval | Refusal> {
    const { id, method, path, body, accountId, amountMicroVnd, decidedBy, decidedPerson } =
      approval;
    const match = this.router?.match(method, path);
    if (match?.kind !== "route" || !("handler" in match.route)) {
      return refuse.unavailable(
        `It is approved, but ${path} is switched off; it is done once that is back.`,
      );
    }
    const pass = randomBytes(32).toString("hex");
    this.passes.set(pass, {
      name: decidedBy ?? "",
      person: decidedPerson ?? "",
      role: "owner",
      approved: { accountId, amountMicroVnd },
    });
    try {
      const reply = await match.route.handler({
        ...{ method, path, remoteAddress, params: match.params, body: Buffer.from(body) },
        ...{ query: new URLSearchParams(), addressBlock: "approval", requestId: id },
        headers: { authorization: `Bearer ${pass}` },
      });
      const { status } = reply;
      const error =
        "body" in reply ? objectOf(parseJson(String(reply.body)))?.["error"] : undefined;
      const message = String(objectOf(error)?.["message"] ?? "");
      if (status >= 500 || TRY_AGAIN.includes(status)) {
        return refuse.unavailable(
          `It is approved, and is tried again until it is done. ${message}`,
        );
      }
      await this.services.database.query(
        "update operator_approvals set state = $2, note = $3 where id = $1 and state = 'approved'",
        [id, status < 300 ? "done" : "failed", status < 300 ? null : message],
      );
    } finally {
      this.passes.delete(pass);
    }
    return (await this.find(id)) ?? approval;
  }

  /** Decides a pending row. Returns it; undefined if it is not pending, or this person must not. */
  private async decide(
    id: string,
    { name, person, role }: Operator,
    state: "approved" | "refused",
    note: string | null,
  ): Promise<Approval | undefined> {
    const [decided] = await this.services.database.query<Approval>(
      `update operator_approvals set state = $2, decided_by = $3, decided_person = $4, decided_at = $5, note = $6
      where id = $1 and state = 'pending' and proposed_at > $7
        and case when proposed_person = $4 then $2 = 'refused' else $8 end returning ${COLUMNS}`,
      [
        ...[id, state, name, person, this.now(), note],
        ...[this.voidSince(), roles.allow(role, "money")],
      ],
    );
    return decided;
  }

  /**
   * Makes the row of a request, or returns the one that waits already. Undefined: its reference was carried out, so the
   * ledger refuses to count it again.
   */
  private async propose(movement: Movement): Promise<Approval | "full" | undefined> {
    const { operator, request, accountId, amountMicroVnd } = movement;
    const { database, clock } = this.services;
    const fields = objectOf(parseJson(request.body.toString())) ?? {};
    const { confirm_above_vnd: _, reason = null, ...rest } = fields;
    const reference = typeof fields["reference"] === "string" ? fields["reference"].trim() : null;
    const whole = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
    const named = reference === null ? [request.path, whole] : ["reference", reference];
    const key = createHash("sha256").update(JSON.stringify(named)).digest();
    const last = async () => {
      const [row] = await database.query<Approval>(
        `select ${COLUMNS} from operator_approvals where key = $1 order by id desc limit 1`,
        [key],
      );
      return row;
    };
    const known = await last();
    if (known?.state === "pending" || known?.state === "approved") return known;
    if (known?.state === "done" && reference !== null) return undefined;
    const sent = JSON.stringify({ ...rest, ...(reason !== null && { reason }) });
    await database.query(
      `insert into operator_approvals (id, key, reference, method, path, body, account_id, amount, reason, proposed_by,
        proposed_person, proposed_at, state)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending'
      where (select count(*) from operator_approvals where state = 'pending') < ${PENDING_MAX}
      on conflict do nothing`,
      [
        ...[newId(clock.now()), key, reference, request.method, request.path, sent, accountId],
        ...[amountMicroVnd, reason === null ? null : String(reason).slice(0, 500)],
        ...[operator.name, operator.person, this.now()],
      ],
    );
    const row = await last();
    // Another process may have decided it by now. An older row that is decided means that there was no place.
    return row && row.id !== known?.id ? row : "full";
  }

  private isWithinBound(operator: Operator, amountMicroVnd: bigint): boolean {
    return sizeOf(amountMicroVnd) <= this.boundMicroVnd(operator);
  }

  /** The bound of the admin token is its own: a named token that was made with it has that of its role. */
  private boundMicroVnd({ name, person, role }: Operator): bigint {
    const bounds = this.options.second_person_above_vnd;
    const own = { viewer: 0, operations: 0, ...bounds }[role];
    const vnd = person === "admin token" && !isNamedToken(name) ? bounds.admin_token : own;
    return BigInt(vnd) * BigInt(MICRO_VND_PER_VND);
  }

  /** Returns the reason for which `decide` has changed nothing. */
  private undecided(found: Approval | undefined): Refusal {
    if (!found)
      return refuse.notFound("There is no such approval. `approval list` lists them.", "approval");
    if (found.state !== "pending") {
      return refuse.conflict(`It is ${found.state} already.`, { code: "approval_decided" });
    }
    // The next sweep ends it.
    if (found.proposedAt <= this.voidSince()) {
      return refuse.conflict("It has waited for too long.", { code: "approval_decided" });
    }
    return refuse.forbidden("You have asked for it yourself: another person must approve it.", {
      code: "own_approval",
    });
  }

  /** A request of this time or earlier is void. */
  private voidSince(): Date {
    return new Date(this.services.clock.now() - VALID_MS);
  }

  private now(): Date {
    return new Date(this.services.clock.now());
  }
}

function sameReference(): Refusal {
  return refuse.conflict(
    "This reference waits for approval with another account or amount. Nothing has changed; use a new reference.",
    { code: "reference_conflict", param: "reference" },
  );
}

function sizeOf(amountMicroVnd: bigint): bigint {
  return amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
}
