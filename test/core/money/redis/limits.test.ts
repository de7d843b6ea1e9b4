import t from "tap";
import type { LimitChange } from "../../../../core/money/ledger.ts";
import { posting } from "../../../support/posting.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { World } from "./world.ts";

const COST = 700;
const CHANGE: LimitChange = {
  accountId: "A",
  name: "b",
  kind: "create",
  amountMicroVnd: 5_000n,
  reference: "b: create",
  reason: null,
};

let redis: TestRedis;

t.before(async () => {
  redis = await startRedis();
});
t.teardown(() => redis.stop());

t.test(
  "a limit counts the charge of a call that was posted before the limit was set",
  async (t) => {
    const world = new World({ servers: redis.servers });
    t.teardown(() => world.dispose());
    await world.addAccount("A", 10_000n);
    const { store } = await world.addGateway();
    await store.load("A", () => world.ledger.wallet("A"));
    world.pause(store);
    // After a restore of the ledger, a call of before names a limit that the ledger has lost.
    world.posted.set("c", COST);
    await store.post(posting({ callId: "c", accountId: "A", costMicroVnd: COST, limits: ["b"] }));
    const changed = await world.ledger.changeLimit(CHANGE);
    if (changed.kind !== "changed") return t.fail(changed.kind);
    t.equal(changed.limit.availableMicroVnd, 5_000, "read before the commit");
    await t.rejects(store.setLimit("A", changed.limit), /not committed yet/);
    world.resume(store);
    const isSet = () => store.setLimit("A", changed.limit).catch(() => false);
    await until("the charge is committed and the limit is set", isSet);
    const left = { availableMicroVnd: 5_000 - COST, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
    t.match(await store.limit("A", "b"), left);
    await world.check();
  },
);
