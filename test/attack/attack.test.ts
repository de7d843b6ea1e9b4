import t from "tap";
import { ATTACKS } from "./attacks.ts";
import { runAttack, startAttacked } from "./run.ts";

const SECONDS = 1;
const GB = 1_073_741_824;

t.test("a gateway of 2 GB under attack stays below 1 GB and serves an honest client", async (t) => {
  const attacked = await startAttacked();
  t.teardown(() => attacked.close());

  for (const attack of ATTACKS) {
    t.test(attack.what, async (t) => {
      const { survived, honest, peakBytes } = await runAttack(attacked.gateway, attack, SECONDS);
      t.ok(survived);
      t.strictSame(honest.errors, {});
      t.ok(honest.calls > 0);
      t.ok(peakBytes < GB, `${Math.round(peakBytes / 1_048_576)} MB`);
    });
  }
});
