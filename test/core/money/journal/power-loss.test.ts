import t from "tap";
import { Journal } from "../../../../core/money/journal/journal.ts";
import { simulatedMachine } from "../simulated-machine.ts";

const FOLDER = "/data/journal";
const SYNC_MS = 1_000;

/** A disk that can lose its power or be full, and journals that one process after the other opens on it. */
function stage() {
  const { disk, next, log, pass } = simulatedMachine();
  const open = async (name: string) => {
    const machine = next(name);
    const options = { folder: FOLDER, bytesMax: 100_000, sync: false, log, machine };
    return { journal: await Journal.open(options), kill: () => machine.kill() };
  };
  return { disk, open, pass };
}

t.test(
  "a journal opens after a kill and then a loss of power, with every record that the kill left",
  async (t) => {
    const { disk, open } = stage();
    const first = await open("first");
    first.journal.appendAll(['{"call":1}']);
    first.kill();
    const second = await open("second");
    t.equal(second.journal.recovered.length, 1);
    second.kill();
    disk.losePower();
    t.equal((await open("third")).journal.recovered.length, 1);
  },
);

t.test(
  "a journal keeps what was synced if its process is killed, and power fails before the next start",
  async (t) => {
    const { disk, open, pass } = stage();
    const { journal, kill } = await open("first");
    journal.appendAll(['{"call":1}']);
    await pass(2 * SYNC_MS);
    for (let call = 2; call < 50; call += 1) journal.appendAll([JSON.stringify({ call })]);
    kill();
    disk.losePower();
    const { recovered } = (await open("second")).journal;
    t.equal(recovered[0]?.payload.toString(), '{"call":1}');
    t.ok(recovered.length < 49, "and loses some that were not");
  },
);

t.test(
  "a journal loses no record if its process is killed, and power fails after a start on a full disk",
  async (t) => {
    const { disk, open } = stage();
    const first = await open("first");
    first.journal.appendAll(Array.from({ length: 50 }, (_, call) => JSON.stringify({ call })));
    first.kill();
    disk.freeBytes = 10;
    const second = await open("second");
    second.kill();
    disk.losePower();
    disk.empty();
    t.equal((await open("third")).journal.recovered.length, 50);
  },
);
