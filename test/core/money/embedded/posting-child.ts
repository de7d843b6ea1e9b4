/**
 * Posts calls in a loop until it is killed, and records each posted call in a file. The page cache keeps that file
 * through the kill, as it keeps the journal.
 */
import { openSync, writeSync } from "node:fs";
import { pino } from "pino";
import { createEmbeddedHoldStore } from "../../../../core/money/embedded/store.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { callIdOf, posting } from "../../../support/posting.ts";

const [folder = "", prefix = "", answers = ""] = process.argv.slice(2);
const answered = openSync(answers, "a");
const log = pino({ level: "silent" });
const store = createEmbeddedHoldStore({
  journal: { folder, bytesMax: 1e9, segmentBytes: 64 * 1024, sync: false, log },
  outboxEntriesMax: 1e6,
  history: new MemoryHistory(),
});
await store.start();
// Calls posted before the last kill count as committed.
for (;;) {
  const entries = await store.read(1_000, 0);
  if (entries.length === 0) break;
  writeSync(answered, entries.map((entry) => `committed ${callIdOf(entry)}\n`).join(""));
  store.acknowledge(entries);
}
const money = 1_000_000_000n;
await store.load("A", async () => ({
  accountId: "A",
  balanceMicroVnd: money,
  creditVersion: 1,
  creditedMicroVnd: money,
}));
process.stdout.write("posting\n");
for (let n = 0; ; n += 1) {
  // Yield once, so that the line above reaches the parent.
  if (n === 1) await new Promise(setImmediate);
  const callId = `${prefix}-${n}`;
  store.hold({ callId, accountId: "A", keyId: "K", amountMicroVnd: 10, floorMicroVnd: 1 });
  store.post(posting({ callId, accountId: "A", costMicroVnd: 3 }));
  writeSync(answered, `posted ${callId}\n`);
}
