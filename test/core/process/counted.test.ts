import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { counted, sizes } from "../../../core/process/counted.ts";
import { until } from "../../support/until.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

class Owner {
  readonly entries = new Set(["a", "b"]);
  constructor() {
    // Refers to the owner itself, as the sizes of most owners do.
    counted("owned", this, () => this.entries.size);
  }
}

t.test("sizes of collections of one name are added up", async (t) => {
  const one = counted("some", new Set([1, 2]));
  const two = counted("some", new Map([[1, 1]]));
  t.equal(sizes()["some"], 3);
  one.clear();
  t.equal(sizes()["some"], two.size);
});

t.test("an object may count several collections", async (t) => {
  const owner = new Owner();
  counted("more", owner, ({ entries }) => 10 * entries.size);
  t.match(sizes(), { owned: 2, more: 20 });
});

t.test("a collection is freed, even if its size is read by way of itself", async (t) => {
  new Owner();
  t.ok("owned" in sizes());
  await until("it is freed", () => {
    collectGarbage();
    return !("owned" in sizes());
  });
});
