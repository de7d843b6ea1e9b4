import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { entryOf } from "../../../../core/money/entry.ts";
import { Spool } from "../../../../core/money/redis/spool.ts";
import { callOf } from "../../../../core/money/unreadable.ts";
import { posting } from "../../../support/posting.ts";
import { simulatedMachine } from "../simulated-machine.ts";

function post(callId: string, cost: number) {
  return entryOf("", posting({ callId, accountId: "A", costMicroVnd: cost }), cost, 0);
}

/** A disk, and spools that processes open on it. */
function stage() {
  const { disk, next, log, ended } = simulatedMachine();
  const open = async (name: string) => {
    const machine = next(name);
    const options = { folder: "/data/spool", bytesMax: 100_000, log, machine };
    return { spool: await Spool.open(options), kill: () => machine.kill() };
  };
  return { disk, open, ended };
}

t.test(
  "a post that the spool took is there after a loss of power, and gone once done",
  async (t) => {
    const { disk, open, ended } = stage();
    const first = await open("first");
    await ended(Promise.all([first.spool.add(post("c1", 7)), first.spool.add(post("c2", 8))]));
    first.kill();
    disk.losePower();
    const second = await open("second");
    const found = second.spool.recovered;
    t.strictSame(
      found.map(({ entry }) => `${callOf(entry).callId} ${entry.chargedMicroVnd}`),
      ["c1 7", "c2 8"],
    );
    for (const post of found) post.drop();
    await second.spool.close();
    second.kill();
    disk.losePower();
    t.strictSame((await open("third")).spool.recovered, []);
  },
);

t.test("each process takes the first free folder, and those of the dead", async (t) => {
  const { disk, open } = stage();
  const running = [await open("first"), await open("second"), await open("third")];
  for (const [at, { spool }] of running.entries()) void spool.add(post(`c${at}`, 0));
  await nextTurn();
  t.strictSame(
    [0, 1, 2, 3].map((at) => disk.hasFolder(`/data/spool/${at}`)),
    [true, true, true, false],
  );
  for (const { kill } of running) kill();
  const { recovered } = (await open("fourth")).spool;
  t.strictSame(
    recovered.map(({ entry }) => callOf(entry).callId),
    ["c0", "c1", "c2"],
  );
});
