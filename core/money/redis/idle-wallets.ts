import { type Machine, sleep } from "../../process/machine.ts";
import { walletKey } from "../purse.ts";
import type { Bucket } from "./bucket.ts";
import type { Membership } from "./membership.ts";
import { asReply } from "./operations.ts";
import type { StoreTimes } from "./store-options.ts";
import type { RedisWallets } from "./wallets.ts";

/** Hash fields per scan, about 80 wallets: they take half a millisecond of Redis, while calls run. */
const PAGE = 500;

interface IdleWalletsOptions {
  readonly memberships: ReadonlyMap<Bucket, Membership>;
  readonly wallets: RedisWallets;
  readonly times: Pick<StoreTimes, "walletIdleMs" | "idleLookMs" | "closePauseMs">;
  readonly machine: Machine;
}

/**
 * Closes wallets and purses without a call for a day, so that Redis has only those in use. In each bucket the member with the lowest
 * id does it; two at once do no harm.
 */
export class IdleWallets {
  private readonly dueMs = new Map<Bucket, number>();

  constructor(private readonly options: IdleWalletsOptions) {
    const { memberships, machine } = options;
    // Spreads the first looks at the buckets over an hour: processes may restart every day.
    let place = 0;
    for (const bucket of memberships.keys()) {
      this.dueMs.set(bucket, machine.monotonic() + (this.lookMs * ++place) / memberships.size);
    }
  }

  private get lookMs(): number {
    return this.options.times.idleLookMs;
  }

  /** Looks at the wallets of a bucket that is ready, if it is time. Never rejects. */
  async round(bucket: Bucket): Promise<void> {
    const { machine, memberships } = this.options;
    const nowMs = machine.monotonic();
    if (nowMs < (this.dueMs.get(bucket) ?? 0)) return;
    this.dueMs.set(bucket, nowMs + this.lookMs);
    const members = memberships.get(bucket)?.view?.members.keys() ?? [];
    if ([...members].some((process) => process < bucket.process)) return;
    // A look that failed is repeated by the next one.
    await this.close(bucket).catch(() => {});
  }

  private async close(bucket: Bucket): Promise<void> {
    const { machine, wallets, times } = this.options;
    const { walletIdleMs: idleMs, closePauseMs } = times;
    for await (const page of wallets.versionsIn(bucket, PAGE)) {
      const each = page.map(({ accountId, purse }) => walletKey(accountId, purse));
      if (each.length === 0) continue;
      const fields = [String(machine.now()), String(idleMs), ...each];
      const [, closed] = await bucket.run("close", [], fields, asReply);
      if (Number(closed) > 0) await sleep(machine, closePauseMs, { unref: true });
    }
  }
}
