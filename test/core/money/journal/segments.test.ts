import t from "tap";
import { Journal, type JournalOptions } from "../../../../core/money/journal/journal.ts";
import { simulatedMachine } from "../simulated-machine.ts";
import { acknowledge } from "./acknowledge.ts";

const FOLDER = "/data/journal";
const RECORD = '{"record":1}';

/** A journal whose segments end after two records, on a disk in memory. */
async function opened(options: Partial<JournalOptions> = {}) {
  const { disk, machine, next, log, ended } = simulatedMachine();
  const open = (opener = machine) => {
    const settings = { folder: FOLDER, bytesMax: 100_000, segmentBytes: 40, sync: true };
    return Journal.open({ ...settings, log, machine: opener, ...options });
  };
  const journal = await open();
  return {
    journal,
    openAgain: () => open(next("second")),
    /** Appends records, each once the one before is on the disk. */
    append: async (count: number) => {
      for (let at = 0; at < count; at += 1)
        await ended(journal.whenSynced(journal.appendAll([RECORD])));
    },
    segments: () => disk.names(FOLDER).filter((name) => name.endsWith(".journal")).length,
  };
}

t.test("a segment is deleted once its last record is acknowledged, and not before", async (t) => {
  const { journal, append, segments } = await opened();
  await append(1);
  const one = journal.bytes;
  await append(6);
  const all = journal.bytes;
  t.equal(segments(), 4, "three of two records, and the open one");
  acknowledge(journal, 1, 1);
  t.equal(segments(), 4);
  acknowledge(journal, 2, 2);
  t.equal(segments(), 3);
  t.equal(journal.bytes, all - (all - one) / 3, "its bytes are free again");
  acknowledge(journal, 5, 7);
  t.equal(segments(), 3, "those before are needed");
  acknowledge(journal, 3, 4);
  t.equal(segments(), 1, "the open one stays");
  t.equal(journal.bytes, one);
});

t.test("a full journal refuses records until some are acknowledged", async (t) => {
  const { journal, append } = await opened({ bytesMax: 200 });
  let taken = 0;
  while (journal.refusal(20) === undefined) {
    await append(1);
    taken += 1;
    if (taken > 100) throw new Error("never full");
  }
  t.match(journal.refusal(20), /full/);
  await t.rejects(append(10), /full/);
  const left = 200 - journal.bytes;
  t.equal(journal.refusal(left), undefined, "to the byte");
  t.ok(journal.refusal(left + 1));
  acknowledge(journal, 1, taken);
  t.equal(journal.refusal(20), undefined);
  await append(1);
});

t.test("positions go on after a restart, and acknowledged records do not come back", async (t) => {
  const { journal, append, openAgain } = await opened();
  await append(5);
  acknowledge(journal, 1, 2);
  await journal.close();
  const again = await openAgain();
  t.strictSame(
    again.recovered.map(({ position }) => position),
    [3, 4, 5],
  );
  t.equal(again.appendAll([RECORD]), 6);
});
