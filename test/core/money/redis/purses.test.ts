import t from "tap";
import { posting } from "../../../support/posting.ts";
import { startRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { World } from "./world.ts";

const COST = 700;

t.test("a post whose purse is not loaded is spooled, and charged once it is", async (t) => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const world = new World({ servers: redis.servers });
  t.teardown(() => world.dispose());
  await world.addAccount("A", 10_000n);
  const { store } = await world.addGateway();
  await store.load("A", () => world.ledger.wallet("A"));
  world.posted.set("c", COST);
  await store.post(posting({ callId: "c", accountId: "A", costMicroVnd: COST, purses: ["b"] }));
  await world.check();
  await until("the purse is loaded", async () => (await store.balances("A", "b")) !== undefined);
  const spent = { availableMicroVnd: -COST, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
  t.strictSame(await store.balances("A", "b"), spent);
  const hold = { purses: [{ name: "b", limitMicroVnd: 1_600 }], hold: 1_000 };
  t.equal(await world.call(store, "A", hold), "short");
});
