/**
 * Posts calls in a loop until it is killed, and writes down each one that was answered: in a file, since
 * what is in the page cache survives the kill as the journal does.
 */
import { openSync, writeSync } from "node:fs";
import { pino } from "pino";
import { EmbeddedHoldStore } from "../../../../core/money/embedded/store.ts";
import { posting } from "../../../support/posting.ts";

const [folder = "", prefix = "", answers = ""] = process.argv.slice(2);
const answered = openSync(answers, "a");
const log = pino({ level: "silent" });
const store = new EmbeddedHoldStore({
  journal: { folder, bytesMax: 1e9, segmentBytes: 64 * 1024, sync: false, log },
  outboxEntriesMax: 1e6,
});
await store.start();
// What was posted before the last kill counts as committed.
for (;;) {
  const entries = await store.read(1_000, 0);
  if (entries.length === 0) break;
  writeSync(answered, entries.map((entry) => `committed ${entry.posting.callId}\n`).join(""));
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
  // The parent hears the line above only when this loop lets go of the thread once.
  if (n === 1) await new Promise(setImmediate);
  const callId = `${prefix}-${n}`;
  store.hold({ callId, accountId: "A", keyId: "K", amountMicroVnd: 10, floorMicroVnd: 1 });
  store.post(posting({ callId, accountId: "A", costMicroVnd: 3 }));
  writeSync(answered, `posted ${callId}\n`);
}
