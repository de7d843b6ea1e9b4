import t from "tap";
import { judge } from "../../../../core/money/redis/judgement.ts";
import type { BucketView } from "../../../../core/money/redis/view.ts";

t.test("what a process concludes from the epoch and its operations that Redis shows", async (t) => {
  // The epoch that it joined and the operations that it saw | those in Redis, and if it was reaped | what follows
  const table: [string, number, string, number, boolean, ReturnType<typeof judge>][] = [
    ["", 0, "", -1, false, "new"],
    ["", 0, "200", -1, false, "new"],
    ["200", 5, "", -1, false, "moved"],
    ["200", 5, "201", -1, false, "moved"],
    ["200", 5, "1000", 9, false, "moved"],
    ["200", 5, "199", 9, false, "lost"],
    ["200", 5, "200", 4, false, "lost"],
    ["200", 5, "200", 5, false, "member"],
    ["200", 5, "200", 6, false, "member"],
    ["200", 0, "200", 0, true, "member"],
    ["200", 5, "200", -1, true, "reaped"],
    ["200", 5, "200", -1, false, "lost"],
  ];
  for (const [own, seen, epoch, operations, reaped, expected] of table) {
    const view = { epoch, operations, reaped } as BucketView;
    t.equal(judge(own, seen, view), expected, JSON.stringify([own, seen, view]));
  }
});
