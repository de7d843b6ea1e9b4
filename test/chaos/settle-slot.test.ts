import t from "tap";
import { Random } from "../support/random.ts";
import { until } from "../support/until.ts";
import { settleSlot } from "./faults/cluster.ts";
import type { Ground } from "./faults/fault.ts";
import { startRedisStage } from "./redis-stage.ts";

const SLOT = 14_780;
const HASH_TAG = "{b54}";

t.test(
  "a slot whose move was broken by a fail-over is served again, with all its keys",
  async (t) => {
    const redis = await startRedisStage({ mode: "cluster", appendFsync: "everysec" });
    t.teardown(() => redis.close());
    const ground = { stage: { redis }, random: new Random(1) } as unknown as Ground;
    const primaries = await redis.primaries();
    const ids = await Promise.all(primaries.map((node) => node.server.call("CLUSTER", "MYID")));
    const ask = (at: number, ...words: string[]) =>
      primaries[at]!.server.call("CLUSTER", ...words.map(String));
    t.equal(Number(await ask(0, "KEYSLOT", HASH_TAG)), SLOT);
    const owner = 2;
    await primaries[owner]!.server.call("SET", `${HASH_TAG}:kept`, "1");
    await primaries[owner]!.server.call("SET", `${HASH_TAG}:moved`, "2");
    await ask(0, "SETSLOT", `${SLOT}`, "IMPORTING", String(ids[owner]));
    await ask(owner, "SETSLOT", `${SLOT}`, "MIGRATING", String(ids[0]));
    const to = ["127.0.0.1", `${primaries[0]!.server.port}`, `${HASH_TAG}:moved`, "0", "5000"];
    t.equal(await primaries[owner]!.server.call("MIGRATE", ...to), "OK");
    t.equal(Number(await ask(0, "COUNTKEYSINSLOT", `${SLOT}`)), 1);
    await until("a node knows no owner", async () => {
      await ask(0, "DELSLOTS", `${SLOT}`).catch(() => {});
      // Otherwise the node learns the owner again from its next message.
      await ask(0, "SETSLOT", `${SLOT}`, "IMPORTING", String(ids[owner]));
      return !(await redis.isWhole());
    });

    await until("it is settled", () =>
      settleSlot(ground, `${SLOT}`).then(
        () => true,
        () => false,
      ),
    );
    await until("every node serves", () => redis.isWhole());
    const { server } = primaries[owner]!;
    t.equal(await server.call("GET", `${HASH_TAG}:kept`), "1");
    t.equal(await server.call("GET", `${HASH_TAG}:moved`), "2");
  },
);
