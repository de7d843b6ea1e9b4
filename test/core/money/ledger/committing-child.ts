/** Commits calls in a loop until it is killed, and writes down each one that the ledger has answered for. */
import { openSync, writeSync } from "node:fs";
import { pino } from "pino";
import { EmbeddedDatabase } from "../../../../core/database/embedded.ts";
import { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";

const [folder = "", answers = ""] = process.argv.slice(2);
const answered = openSync(answers, "a");
/** The database of one that was killed may be about to start, on a machine that is busy. */
const LOCK_WAIT_MS = 60_000;
const clock = { now: () => AT, monotonic: () => 0 };
const log = pino({ level: "silent" });
const server = new EmbeddedDatabase({ folder, lockWaitMs: LOCK_WAIT_MS, log });
const ledger = new PostgresLedger({ server, clock, log });
await ledger.start();
const accountId = await fundedAccount(ledger, 1_000_000_000n);
for (let batches = 1; ; batches += 1) {
  const batch = Array.from({ length: 20 }, () => charge(accountId, 1));
  await ledger.commit(batch);
  writeSync(answered, batch.map((entry) => `${entry.posting.callId}\n`).join(""));
  // Told only now, so that whoever kills it from here on has something to find.
  if (batches === 1) process.stdout.write("committing\n");
}
