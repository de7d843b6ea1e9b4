import type { Log } from "../process/log.ts";
import type { Committer } from "./committer.ts";
import type { HoldStore } from "./hold-store.ts";
import { LIFETIMES } from "./lifetimes.ts";
import type { StandingCall } from "./standing.ts";
import type { StoredWallets } from "./stored-wallets.ts";

interface MoneyParts {
  readonly wallets: StoredWallets;
  readonly committer: Committer;
  readonly holdStore: HoldStore;
  readonly log: Log;
}

/**
 * Commits posted calls and stops the hold store, in bounded time. Logs and returns calls that the disk refused to the
 * end: they are free.
 */
export async function stopMoney(parts: MoneyParts): Promise<readonly StandingCall[]> {
  const { wallets, committer, holdStore, log } = parts;
  await wallets.end();
  await committer.stop(LIFETIMES.stopCommittingMs);
  await wallets.end();
  try {
    await holdStore.stop();
  } finally {
    // Last: a call that outlived the drain may end while the stores stop. And also if they cannot: the disk may be the cause.
    for (const { callId, accountId, microVnd } of wallets.latePostsLeft()) {
      log.error(
        { callId, accountId, costMicroVnd: microVnd },
        "lost the charge of a call: the disk refused it until the process ended",
      );
    }
  }
  return wallets.latePostsLeft();
}
