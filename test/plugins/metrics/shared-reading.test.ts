import t from "tap";
import { SharedReading } from "../../../plugins/metrics/shared-reading.ts";

const PAUSE_MS = 200;

t.test("readings that many ask for", async (t) => {
  let begun = 0;
  const begunMs: number[] = [];
  const reading = new SharedReading(async () => {
    begunMs.push(performance.now());
    return ++begun;
  }, PAUSE_MS);

  await t.test("are shared by all who ask before one begins", async (t) => {
    t.strictSame(await Promise.all([reading.get(), reading.get(), reading.get()]), [1, 1, 1]);
  });

  await t.test("are never from before they were asked for", async (t) => {
    t.equal(await reading.get(), 2);
    t.equal(await reading.get(), 3);
  });

  await t.test("begin with a pause between them", async (t) => {
    // Each notes its time after it began: some milliseconds later on a busy machine.
    for (const [at, ms] of begunMs.slice(1).entries()) t.ok(ms - begunMs[at]! >= PAUSE_MS / 2);
  });

  await t.test("that fail do not keep the next from being read", async (t) => {
    let isBroken = true;
    const broken = new SharedReading(async () => {
      if (isBroken) throw new Error("cannot read");
      return "read";
    }, 1);
    await t.rejects(broken.get(), /cannot read/);
    isBroken = false;
    t.equal(await broken.get(), "read");
  });
});
