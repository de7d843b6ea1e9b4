import t from "tap";
import { Random } from "../../../support/random.ts";
import { Scheduler } from "../../scheduler.ts";
import { LuaScripts } from "../lua.ts";
import { Cluster } from "./cluster.ts";

t.test("a slot does not move to or from a primary that is handing its slots over", async (t) => {
  const random = new Random(1);
  const scheduler = new Scheduler(random);
  const lua = new LuaScripts();
  const cluster = new Cluster({
    ...{ scheduler, random, lua, slots: 3 },
    ...{ onBelowZero() {}, onLost() {}, onTakenOver() {} },
  });
  const [first, second] = cluster.nodes;
  if (!first || !second) throw new Error("there are six nodes");
  t.equal(cluster.handOver(first, 100), true);
  t.equal(cluster.migrate(1, first), false);
  t.equal(cluster.migrate(0, second), false);
  let isOver = false;
  scheduler.after(200, "the hand-over is over", () => {
    isOver = true;
  });
  await scheduler.run(() => isOver);
  const next = cluster.ownerOf(0);
  t.not(next, first);
  t.equal(cluster.migrate(1, first), false, "a replica owns no slot");
  t.equal(cluster.migrate(1, next), true);
  t.equal(cluster.ownerOf(1), second);
  await scheduler.run(() => cluster.ownerOf(1) === next);
});
