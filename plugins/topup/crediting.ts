import { failpoint, PeriodicTask, type Services, ThrottledLog } from "../../core/plugin/index.ts";
import { dayOfTransfer, decideBonuses, dropBonus, offersOf } from "./bonuses.ts";
import type { Settings } from "./options.ts";
import {
  isInLedger,
  lastReceived,
  markCredited,
  matchedTransfers,
  setAside,
  type Transfer,
  unmatchedTransfers,
} from "./transfers.ts";

const SWEEP_MS = 3_000;
const PAGE = 100;

/**
 * Credits bank transfers to wallets, each exactly once. A transfer is recorded with its account, then credited under a
 * reference that the ledger accepts once, then its bonuses are, then it is marked. After a crash between two steps, a sweep of any process finishes
 * the rest, at its start and every 3 s.
 */
export class Crediting {
  private readonly task: PeriodicTask;
  private stopped = false;
  private readonly log: ThrottledLog;

  /** Transfers that were left to an operator instead, since the start. */
  setAside = 0;
  /** Transfers that wait for an operator, at the last sweep. */
  unmatched: Awaited<ReturnType<typeof unmatchedTransfers>> | undefined = undefined;
  /** Of the last transfer that the bank reported, at the last sweep. Unix time in ms. */
  lastReceivedMs: number | undefined = undefined;

  constructor(
    private readonly services: Services,
    private readonly bonuses: Settings["promotions"]["bonuses"] = [],
  ) {
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

  /** Credits a transfer if it is matched. Never rejects: if a store is down, a sweep credits it later. */
  async creditSoon(transfer: Transfer): Promise<void> {
    if (transfer.state !== "matched") return;
    await this.credit(transfer).catch((error: unknown) => {
      this.log.warn(
        { err: error, transfer: transfer.id },
        "cannot credit a transfer; retrying in 3 s",
      );
    });
  }

  /** Rejects if a store is down. The transfer stays as it is, for the next sweep. */
  private async credit(transfer: Transfer): Promise<void> {
    const { id, reference, accountId, amountMicroVnd, orderCode } = transfer;
    const { database, wallets } = this.services;
    if (accountId === null || amountMicroVnd === null) return;
    if (await this.isOfClosed(transfer)) {
      // If the ledger has it, its mark is all that it lacks. Else another gateway has set it aside first.
      if ((await this.leave(id, "closed_account")) || !(await isInLedger(database, id))) return;
    }
    const result = await wallets.current.credit({
      accountId,
      amountMicroVnd,
      reference,
      kind: "topup",
      reason: orderCode,
    });
    failpoint("topup.credited");
    if (result.kind === "credited") {
      await this.creditBonuses(transfer, accountId, amountMicroVnd);
      await markCredited(database, id);
      failpoint("topup.marked");
      return;
    }
    await this.leave(id, result.kind);
  }

  /** A customer who has left pays by an old template. Not if an operator has assigned it. */
  private async isOfClosed({ accountId, decidedAt }: Transfer): Promise<boolean> {
    if (accountId === null || decidedAt !== null) return false;
    return (await this.services.accounts.find(accountId))?.status === "closed";
  }

  /** Leaves a transfer to an operator. Returns false if `setAside` does. */
  private async leave(id: string, cause: string): Promise<boolean> {
    const isLeft = await setAside(this.services.database, id, cause);
    if (isLeft) {
      this.setAside++;
      this.services.log.warn(
        { transfer: id, cause },
        "cannot credit a transfer; an operator must decide",
      );
    }
    return isLeft;
  }

  /** Credits the bonuses that a transfer earns, each as a row of its own. A repetition changes nothing. */
  private async creditBonuses(
    transfer: Transfer,
    accountId: string,
    amountMicroVnd: bigint,
  ): Promise<void> {
    const { database, log, wallets } = this.services;
    const offers = offersOf(this.bonuses, amountMicroVnd, dayOfTransfer(transfer));
    for (const bonus of await decideBonuses(database, transfer.id, offers)) {
      failpoint("topup.bonus.decided");
      const { reference, title } = bonus;
      const movement = {
        accountId,
        reference,
        amountMicroVnd: bonus.amountMicroVnd,
        reason: title,
      };
      const result = await wallets.current.credit({ ...movement, kind: "adjustment" });
      failpoint("topup.bonus.credited");
      if (result.kind === "credited") continue;
      log.warn({ reference, cause: result.kind }, "cannot credit a bonus; the top-up has none");
      await dropBonus(database, bonus);
    }
  }

  private async round(): Promise<number> {
    try {
      await this.sweep();
      const { database } = this.services;
      this.unmatched = await unmatchedTransfers(database);
      this.lastReceivedMs = (await lastReceived(database))?.getTime();
    } catch (error) {
      this.log.warn({ err: error }, "cannot read matched transfers; retrying in 3 s");
    }
    return SWEEP_MS;
  }

  private async sweep(): Promise<void> {
    const { database } = this.services;
    let after = 0n;
    for (;;) {
      const transfers = await matchedTransfers(database, PAGE, after);
      for (const transfer of transfers) {
        if (this.stopped) return;
        // A transfer that cannot be credited now must not delay the others.
        await this.creditSoon(transfer);
        after = transfer.sequence;
      }
      if (transfers.length < PAGE) return;
    }
  }
}
