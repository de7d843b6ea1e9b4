import t from "tap";
import { Doubt } from "../../../../core/money/redis/doubt.ts";

t.test("an epoch in doubt ends, and a later one does not", async (t) => {
  // The epochs that rounds find, and if each has to end
  const table: [string, boolean][][] = [
    [
      ["7", true],
      ["6", true],
      ["", false],
      ["7", false],
    ],
    [
      ["7", true],
      ["7", true],
      ["8", false],
      ["7", false],
    ],
    [["8", false]],
    // It began that one itself.
    [["5", false]],
  ];
  for (const rounds of table) {
    const doubt = new Doubt();
    doubt.raise("7");
    for (const [found, ends] of rounds)
      t.equal(doubt.concerns(found, "5"), ends, `${rounds.map(([each]) => each)}, now ${found}`);
  }
});

t.test("without a doubt no epoch ends, and a doubt is about the first epoch", async (t) => {
  const doubt = new Doubt();
  t.equal(doubt.concerns("7", ""), false);
  doubt.raise("7");
  doubt.raise("9");
  t.equal(doubt.concerns("9", ""), false);
});
