import { failpoint } from "../../process/failpoint.ts";
import type { Machine } from "../../process/machine.ts";
import { withTimeout } from "../../process/timeout.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import type { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { RestoreResult } from "../restorable.ts";
import type { Bucket } from "./bucket.ts";
import { membersScript } from "./scripts.ts";
import { readView } from "./view.ts";

/**
 * Drops every wallet, and then accepts that the ledger lost commits: the page on money says why in this order. Rejects
 * if a bucket cannot be reached. To repeat it is safe. Resolves once wallets load here again, so that the operator's
 * next command finds them: a new epoch begins in milliseconds, or after the lease of a gateway that is dead.
 */
export async function restore(
  client: RedisCommands,
  buckets: readonly Bucket[],
  watch: LedgerWatch,
  machine: Machine,
): Promise<RestoreResult> {
  const ended = await Promise.all(buckets.map((bucket) => endEpoch(client, bucket)));
  failpoint("restore.epochs");
  await watch.restored(Math.max(...ended));
  failpoint("restore.accepted");
  const loadable = Promise.all(buckets.map((bucket) => bucket.whenLoadable()));
  await withTimeout(loadable, LIFETIMES.restoreWaitMs, machine);
  return { kind: "restored" };
}

/**
 * Ends the epoch of a bucket: its wallets and holds are deleted, its outboxes are committed before loads. Returns the
 * last epoch that it ended, or found ended.
 */
async function endEpoch(client: RedisCommands, { keys, process }: Bucket): Promise<number> {
  const ask = (...args: string[]) => client.run(membersScript, keys.ofMembers, args);
  let ended = 0;
  for (;;) {
    const { epoch } = readView(await ask("look", process, "0", "0", "0"));
    // A bucket without an epoch has no wallets. If another gateway ends the epoch first, end the new one too: it may
    // have begun before the ledger was restored.
    if (epoch === "") return ended;
    ended = Number(epoch);
    if (textOf(await ask("declare", process, epoch, epoch)) !== "") return ended;
  }
}
