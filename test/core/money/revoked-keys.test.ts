import t from "tap";
import { RevokedKeys } from "../../../core/money/revoked-keys.ts";
import { ManualMachine } from "./manual-machine.ts";

const HOUR_MS = 3_600_000;

t.test("revoked keys are kept for two hours, so that their number is bounded", async (t) => {
  const machine = new ManualMachine();
  const keys = new RevokedKeys(machine);
  for (let n = 0; n < 1_000; n += 1) {
    keys.add(`K${n}`);
    await machine.advance(HOUR_MS / 10);
    t.ok(keys.has(`K${n}`));
    t.ok(keys.size <= 20, `${keys.size} keys`);
  }
  t.ok(keys.has("K985") && !keys.has("K970"));
  const [oldest] = keys.left();
  t.ok(oldest && oldest.leftMs > 0 && oldest.leftMs < HOUR_MS / 5);
  keys.delete("K999");
  t.ok(!keys.has("K999"));
});
