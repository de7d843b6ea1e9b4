import { failpoint, PeriodicTask, type Services, ThrottledLog } from "../../core/plugin/index.ts";

const SWEEP_MS = 3_000;
const PAGE = 100;

/** A code of which a use was taken for an account. */
interface Claim {
  readonly sequence: bigint;
  readonly code: Buffer;
  readonly accountId: string;
  readonly amountMicroVnd: bigint;
  readonly prefix: string;
  readonly reference: string;
}

type Redeemed =
  /** `applied` is false if this customer had redeemed the code before. */
  | { readonly kind: "redeemed"; readonly amountMicroVnd: bigint; readonly applied: boolean }
  /** Unknown, not begun, ended, cancelled, or used by others. */
  | { readonly kind: "invalid" }
  /** The customer has redeemed another code of a batch that gives each customer one. */
  | { readonly kind: "once" }
  /** The wallet refused the credit for good. */
  | { readonly kind: "refused" };

const CLAIM = `select sequence, code, account_id as "accountId", amount as "amountMicroVnd", prefix, reference
  from vouchers_redemptions r join vouchers_codes c on c.hash = r.code`;

/**
 * Credits vouchers, each use exactly once. A use of the code is taken for the account, the ledger credits it under a
 * reference of both, then it is marked. After a crash between two steps, a sweep of any process finishes the rest, at its
 * start and every 3 s.
 */
export class Redeeming {
  private readonly task: PeriodicTask;
  private readonly log: ThrottledLog;
  private stopped = false;

  constructor(private readonly services: Services) {
    this.log = new ThrottledLog(services.log);
    this.task = new PeriodicTask(() => this.round());
  }

  start(): void {
    this.task.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.task.stop();
  }

  /** Rejects if a store is down; if a use was taken by then, a sweep credits it. */
  async redeem(hash: Buffer, accountId: string): Promise<Redeemed> {
    const { clock, database } = this.services;
    const [row] = await database.query<{ outcome: "claimed" | "before" | "once" | "invalid" }>(
      "select redeem_voucher($1, $2, $3) as outcome",
      [hash, accountId, new Date(clock.now())],
    );
    const outcome = row?.outcome ?? "invalid";
    if (outcome === "invalid" || outcome === "once") return { kind: outcome };
    failpoint("voucher.claimed");
    const [claim] = await database.query<Claim>(`${CLAIM} where code = $1 and account_id = $2`, [
      hash,
      accountId,
    ]);
    if (!claim || !(await this.credit(claim))) return { kind: "refused" };
    const { amountMicroVnd } = claim;
    return { kind: "redeemed", amountMicroVnd, applied: outcome === "claimed" };
  }

  /** Returns false if the wallet refuses; then the use is given back. */
  private async credit({
    code,
    accountId,
    amountMicroVnd,
    reference,
    prefix,
  }: Claim): Promise<boolean> {
    const { database, log, wallets } = this.services;
    const movement = { accountId, amountMicroVnd, reference, reason: `${prefix}…` };
    const result = await wallets.current.credit({ ...movement, kind: "adjustment" });
    failpoint("voucher.credited");
    if (result.kind !== "credited") {
      log.warn({ reference, cause: result.kind }, "cannot credit a voucher; its use is given back");
      await database.query("select give_back_voucher($1, $2)", [code, accountId]);
      return false;
    }
    await database.query(
      `update vouchers_redemptions set credited_at = now()
      where code = $1 and account_id = $2 and credited_at is null`,
      [code, accountId],
    );
    failpoint("voucher.marked");
    return true;
  }

  private async round(): Promise<number> {
    try {
      await this.sweep();
    } catch (error) {
      this.log.warn({ err: error }, "cannot read redeemed vouchers; retrying in 3 s");
    }
    return SWEEP_MS;
  }

  private async sweep(): Promise<void> {
    let after = 0n;
    for (;;) {
      const claims = await this.services.database.query<Claim>(
        `${CLAIM} where credited_at is null and sequence > $1 order by sequence limit ${PAGE}`,
        [after],
      );
      for (const claim of claims) {
        if (this.stopped) return;
        // A voucher that cannot be credited now must not delay the others.
        await this.credit(claim).catch((error: unknown) => {
          const { reference } = claim;
          this.log.warn({ err: error, reference }, "cannot credit a voucher; retrying in 3 s");
        });
        after = claim.sequence;
      }
      if (claims.length < PAGE) return;
    }
  }
}
