import t from "tap";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

const SEEDS = 50;

t.test("a simulated world", async (t) => {
  t.test(`keeps every guarantee with embedded balances, in ${SEEDS} seeds`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const plan = planWorld(seed, { store: "embedded" });
      const { violations } = await simulate(plan);
      t.strictSame(violations, [], `seed ${seed}: ${describePlan(plan)}`);
    }
  });

  t.test("runs the same way again from the same seed", async (t) => {
    const [one, other] = [await simulate(planWorld(7)), await simulate(planWorld(7))];
    t.equal(one.hash, other.hash);
    t.not((await simulate(planWorld(8))).hash, one.hash);
  });
});
