import type { RedisCommands } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import type { LedgerWatch } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";
import { membersScript } from "./scripts.ts";
import { readView } from "./view.ts";

/** Ends the epoch of a bucket: its wallets and holds are deleted, its outboxes are committed before loads. */
export async function endEpoch(client: RedisCommands, { keys, process }: Bucket): Promise<void> {
  const ask = (...args: string[]) => client.run(membersScript, keys.ofMembers, args);
  for (;;) {
    const { epoch } = readView(await ask("look", process, "0", "0", "0"));
    // A bucket without an epoch has no wallets. If another gateway ends the epoch first, end the new one too: it may
    // have begun before the ledger was restored.
    if (epoch === "") return;
    if (textOf(await ask("declare", process, epoch, epoch)) !== "") return;
  }
}

/**
 * Prepares for a new epoch of a bucket: no wallet may outlive the counts of the ledger. The first bucket has them, and may
 * have lost them, while the others are at other nodes of a cluster. A process that has compared them keeps them again.
 * Any other cannot know if the ledger went back since, so it ends all epochs: the wallets are loaded again.
 */
export async function beforeEpoch(
  bucket: Bucket,
  [first, ...others]: readonly Bucket[],
  client: RedisCommands,
  watch: LedgerWatch,
): Promise<void> {
  if (bucket !== first) return;
  if (watch.hasCompared) return watch.keepAgain();
  await Promise.all(others.map((other) => endEpoch(client, other)));
}
