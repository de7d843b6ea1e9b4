import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { chaosUntil, type Run } from "./chaos-process.ts";

t.test("a short run of chaos", { jobs: 16 }, async (t) => {
  for (const [store, args] of [
    ["one Redis", []],
    ["a cluster", ["--cluster"]],
  ] as const) {
    t.test(`finds no violation on ${store}`, async (t) => {
      const isHarmed = ({ output }: Run) =>
        Number(/received whole \| (\d+)/.exec(output)?.[1]) > 10 &&
        /\| — (?:kill|freeze|fail over|migrate|wipe|lose)[^|]* \| [1-9]/.test(output);
      const run = await chaosUntil(packageRoot, args, (run) => run.code !== 0 || isHarmed(run));
      t.equal(run.code, 0, run.report);
      t.ok(isHarmed(run), run.report);
    });
  }
});
