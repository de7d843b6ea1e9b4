import type { Log } from "../process/log.ts";
import type { Committer } from "./committer.ts";
import type { HoldStore } from "./hold-store.ts";
import { LIFETIMES } from "./lifetimes.ts";
import type { StandingCall } from "./standing-call.ts";
import type { StoredWallets } from "./wallets.ts";

interface MoneyParts {
  readonly wallets: StoredWallets;
  readonly committer: Committer;
  readonly holdStore: HoldStore;
  readonly log: Log;
}

/**
 * Commits posted calls, those first that the disk refused, and stops the hold store, in bounded time. Logs and returns
 * calls that no store could keep: they are free.
 */
export async function stopMoney(parts: MoneyParts): Promise<readonly StandingCall[]> {
  const { wallets, committer, holdStore, log } = parts;
  await wallets.end(LIFETIMES.lastPostsMs);
  await committer.stop(LIFETIMES.stopCommittingMs);
  await wallets.end(0);
  await holdStore.stop();
  // Last: a call that outlived the drain may end while the stores stop.
  const lost = wallets.lostPosts();
  for (const { callId, accountId, microVnd } of lost) {
    log.error(
      { callId, accountId, costMicroVnd: microVnd },
      "lost the charge of a call: the disk refused it, and no store could be reached before the process ended",
    );
  }
  return lost;
}
