import t from "tap";
import { readable } from "../../../support/posting.ts";
import { startRedis, startRedisCluster, type TestRedis } from "../../../support/redis.ts";
import { World } from "./world.ts";

let servers: TestRedis[];

t.before(async () => {
  servers = await Promise.all([startRedis(), startRedisCluster()]);
});

t.teardown(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

for (const [at, name] of ["one redis", "a cluster"].entries()) {
  t.test(`500 calls at once from two gateways on a wallet with money for 7: ${name}`, async (t) => {
    const world = new World({ servers: servers[at]!.servers });
    try {
      await world.addGateway();
      await world.addGateway();
      await world.addAccount("A", 7_699n);
      const calls = Array.from({ length: 500 }, (_, n) =>
        world.call(world.stores[n % 2]!, "A", { hold: 1_000, cost: 1_100 }),
      );
      await Promise.all(calls);
      await world.quiet();
      // Seven holds fit. Each call costs 100 more than its hold; the rest covers six of these and part of the seventh.
      // A hold that a busy machine took too long for is refused, and may keep its place until it is voided.
      const { posted, short, refused } = world.ends;
      t.equal(posted + short + refused, 500);
      t.ok(posted === 7 || (posted < 7 && refused > 0), JSON.stringify(world.ends));
      const balance = (await world.ledger.wallet("A"))?.balanceMicroVnd;
      t.equal(balance, BigInt(7_699 - Math.min(7_699, posted * 1_100)));
      t.equal(world.ledger.charges.size, posted);
    } finally {
      await world.dispose();
    }
  });

  t.test(
    `500 calls at once from two gateways on two purses with money for 7: ${name}`,
    async (t) => {
      const world = new World({ servers: servers[at]!.servers });
      try {
        await world.addGateway();
        await world.addGateway();
        await world.addAccount("A", 9_000_000n);
        const purses = [
          { name: "day", limitMicroVnd: 8_699 },
          { name: "key:K", limitMicroVnd: 7_699 },
        ];
        const calls = Array.from({ length: 500 }, (_, n) =>
          world.call(world.stores[n % 2]!, "A", { hold: 1_000, cost: 900, purses }),
        );
        await Promise.all(calls);
        await world.quiet();
        // At most seven holds fit at a time; the unused part of posted holds makes room for an eighth.
        const { posted, short, refused } = world.ends;
        t.ok(
          posted === 7 || posted === 8 || (posted < 7 && refused > 0),
          JSON.stringify(world.ends),
        );
        t.equal(posted + short + refused, 500);
        const spent = { availableMicroVnd: -posted * 900, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
        for (const { name } of purses)
          t.strictSame(await world.stores[0]!.balances("A", name), spent, name);
      } finally {
        await world.dispose();
      }
    },
  );

  t.test(`an entry that two gateways commit leaves uncommitted once: ${name}`, async (t) => {
    const world = new World({ servers: servers[at]!.servers });
    try {
      const { store } = await world.addGateway();
      const other = await world.addGateway();
      await world.addAccount("A", 100_000n);
      await Promise.all(Array.from({ length: 50 }, () => world.call(store, "A")));
      const entries = readable(await store.read(100, 0));
      await world.ledger.commit(entries);
      await Promise.all([
        store.acknowledge(entries),
        store.acknowledge(entries),
        other.store.acknowledge(entries),
      ]);
      await world.check();
      const found = await other.store.balances("A");
      t.strictSame(found, {
        availableMicroVnd: 65_000,
        heldMicroVnd: 0,
        uncommittedMicroVnd: 0,
      });
    } finally {
      await world.dispose();
    }
  });
}
