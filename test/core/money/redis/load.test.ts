import t from "tap";
import type { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import { bucketIndexOf } from "../../../../core/redis/buckets.ts";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { holdRequest } from "../wallet-fixtures.ts";
import { BUCKETS, connectedClient, emptyLedger, startStore } from "./store.ts";

let server: RedisServer;

t.before(async () => {
  server = await startRedisServer();
});

t.teardown(() => server.stop());

t.test("a wallet is read from the ledger once, by one load of all that wait for it", async (t) => {
  const { store, dispose } = await startStore({ servers: server.url });
  t.teardown(dispose);
  let reads = 0;
  const load = (accountId: string) =>
    store.load(accountId, async () => {
      reads += 1;
      const amounts = { balanceMicroVnd: 5n, creditVersion: 1, creditedMicroVnd: 5n };
      return { accountId, ...amounts };
    });
  t.strictSame(await Promise.all([load("A"), load("A")]), [true, true]);
  t.equal(reads, 1);
  t.equal(await load("A"), true);
  t.equal(reads, 1, "a loaded wallet is not read again");
  t.strictSame(await Promise.all([load("B"), load("C")]), [true, true]);
  t.equal(reads, 3);
});

t.test("a post whose wallet is not loaded is kept, and charged once it is", async (t) => {
  const amounts = { balanceMicroVnd: 5n, creditVersion: 1, creditedMicroVnd: 5n };
  const ledger = { ...emptyLedger("load"), wallet: async () => ({ accountId: "D", ...amounts }) };
  const { store, dispose } = await startStore({ servers: server.url, ledger });
  t.teardown(dispose);
  const posted = await store.post(posting({ callId: "c1", accountId: "D", costMicroVnd: 3 }));
  t.strictSame(posted, { chargedMicroVnd: 3, writtenOffMicroVnd: 0, duplicate: false });
  await until("it is charged", async () => {
    const balances = await store.balances("D");
    return balances?.uncommittedMicroVnd === 3 && balances.availableMicroVnd === 2;
  });
});

t.test("a wallet that is broken in Redis fails no other call of its turn", async (t) => {
  const { store, prefix, dispose } = await startStore({ servers: server.url });
  t.teardown(dispose);
  const ids = Array.from({ length: 3 * BUCKETS }, (_, at) => `account ${at}`);
  const [first = "", broken = "", last = ""] = ids.filter((id) => bucketIndexOf(id, BUCKETS) === 0);
  const amounts = { balanceMicroVnd: 50n, creditVersion: 1, creditedMicroVnd: 50n };
  for (const accountId of [first, broken, last])
    t.equal(await store.load(accountId, async () => ({ accountId, ...amounts })), true);
  const [wallets] = (await server.call("KEYS", `${prefix}:*:w`)) as string[];
  await server.call("HSET", wallets ?? "", `${broken}:h`, "no number");
  const turn = [first, broken, last].map((id) => store.hold(holdRequest(`of ${id}`, 10, id)));
  t.match(await Promise.all(turn), [
    { kind: "held" },
    { kind: "unavailable", reason: /not an integer/ },
    { kind: "held" },
  ]);
});

t.test("nothing is read of a wallet before the store knows which data is valid", async (t) => {
  let reads: Promise<PromiseSettledResult<unknown>[]> | undefined;
  const beforeStart = (store: RedisHoldStore) => {
    const versions = store.loadedVersions()[Symbol.asyncIterator]();
    reads = Promise.allSettled([store.balances("A"), store.balances("A", "L"), versions.next()]);
  };
  // Connected, so that only the store refuses.
  const client = await connectedClient(server.url);
  const { dispose } = await startStore({ servers: server.url, client, beforeStart });
  t.teardown(dispose);
  const statuses = (await reads)?.map(({ status }) => status);
  t.strictSame(statuses, ["rejected", "rejected", "rejected"]);
});

t.test("a post before the start is refused, since no disk keeps it", async (t) => {
  let post: Promise<unknown> | undefined;
  const beforeStart = (store: RedisHoldStore) => {
    const early = async () => await store.post(posting({ callId: "c1", accountId: "A" }));
    post = t.rejects(early, /is not started/);
  };
  const { dispose } = await startStore({ servers: server.url, beforeStart });
  t.teardown(dispose);
  await post;
});

t.test("a wallet is read three times if wallets are closed during each load of it", async (t) => {
  const { store, prefix, dispose } = await startStore({ servers: server.url });
  t.teardown(dispose);
  const snapshot = {
    accountId: "A",
    balanceMicroVnd: 5n,
    creditVersion: 1,
    creditedMicroVnd: 5n,
  };
  await store.load("A", async () => snapshot);
  const [wallets = ""] = (await server.call("KEYS", `${prefix}:*:w`)) as string[];
  let reads = 0;
  const close = async () => {
    await server.call("HDEL", wallets, "A:a");
    await server.call("HINCRBY", wallets, ":closes", "1");
  };
  const readUntil = (quietFrom: number) => async () => {
    reads += 1;
    if (reads < quietFrom) await close();
    return snapshot;
  };
  await close();
  await t.rejects(store.load("A", readUntil(10)), /changed during 3 loads; try again/);
  t.equal(reads, 3);
  reads = 0;
  t.equal(await store.load("A", readUntil(3)), true);
  t.equal(reads, 3);
  t.match(await store.balances("A"), { availableMicroVnd: 5 });
});
