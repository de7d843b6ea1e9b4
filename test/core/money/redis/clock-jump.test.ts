import t from "tap";
import { startRedisServer } from "../../../support/redis.ts";
import { sentOperations } from "./sent-operations.ts";
import { clientOf } from "./store.ts";
import { World } from "./world.ts";

/** Deletes every key that has an expiry, as a clock that jumps far forward does. */
const EXPIRE_ALL = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) >= 0 then redis.call('DEL', key) end
end`;

t.test("a post whose reply is lost while Redis's clock jumps is charged once", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const client = clientOf(server.url);
  const evalsha = client.evalsha.bind(client);
  let losesReply = true;
  client.evalsha = async (sha, keys, args) => {
    const reply = await evalsha(sha, keys, args);
    if (!losesReply || !sentOperations(args).includes("post")) return reply;
    losesReply = false;
    await server.call("EVAL", EXPIRE_ALL, "0");
    throw new Error("the connection broke");
  };
  const world = new World({ servers: server.url });
  t.teardown(() => world.dispose());
  const { store } = await world.addGateway({ client });
  await world.addAccount("A", 10_000n);
  t.equal(await world.call(store, "A"), "posted");
  t.equal(losesReply, false);
  await world.check();
});

t.test("Redis forgets a call only after its commit", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const world = new World({ servers: server.url });
  t.teardown(() => world.dispose());
  const { store } = await world.addGateway();
  await world.addAccount("A", 10_000n);
  world.pause(store);
  t.equal(await world.call(store, "A"), "posted");
  const expiries = `return redis.call('PTTL', redis.call('KEYS', '*:d:*')[1])`;
  t.equal(await server.call("EVAL", expiries, "0"), -1);
  world.resume(store);
  await world.check();
  t.ok(Number(await server.call("EVAL", expiries, "0")) > 0, "it does expire");
});
