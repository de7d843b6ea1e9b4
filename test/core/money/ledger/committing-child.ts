/** Commits calls in a loop until it is killed, and reports each committed call. */
import { openSync, writeSync } from "node:fs";
import { pino } from "pino";
import { EmbeddedDatabase } from "../../../../core/database/embedded.ts";
import { createPostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";

const [folder = "", answers = ""] = process.argv.slice(2);
const answered = openSync(answers, "a");
/** On a busy machine the database of a killed process may still be starting. */
const LOCK_WAIT_MS = 60_000;
const clock = { now: () => AT, monotonic: () => 0 };
const log = pino({ level: "silent" });
const server = new EmbeddedDatabase({ folder, lockWaitMs: LOCK_WAIT_MS, log });
const ledger = createPostgresLedger({ server, clock, log });
await ledger.start();
const accountId = await fundedAccount(ledger, 1_000_000_000n);
for (let batches = 1; ; batches += 1) {
  const batch = Array.from({ length: 20 }, () => charge(accountId, 1));
  await ledger.commit(batch);
  writeSync(answered, batch.map((entry) => `${entry.posting.callId}\n`).join(""));
  // Reported only now, so that a kill from here on finds a database to recover.
  if (batches === 1) process.stdout.write("committing\n");
}
