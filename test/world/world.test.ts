import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

const SEEDS = 50;

describe("a simulated world", () => {
  it(`keeps every guarantee with embedded balances, in ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const plan = planWorld(seed, { store: "embedded" });
      const { violations } = await simulate(plan);
      assert.deepEqual(violations, [], `seed ${seed}: ${describePlan(plan)}`);
    }
  });

  it("runs the same way again from the same seed", async () => {
    const [one, other] = [await simulate(planWorld(7)), await simulate(planWorld(7))];
    assert.equal(one.hash, other.hash);
    assert.notEqual((await simulate(planWorld(8))).hash, one.hash);
  });
});
