import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { connect } from "../../../../core/database/client.ts";
import { databaseOf, migrate } from "../../../../core/database/migrate.ts";
import {
  BalancesLock,
  connectionName,
  refuseOwnedBalances,
} from "../../../../core/money/ledger/balances-lock.ts";
import { recordedLog } from "../../../support/log.ts";
import { OWN_STATEMENTS, startPostgres } from "../../../support/postgres.ts";
import { until } from "../../../support/until.ts";

const TIMES = { balancesBeatMs: 10, balancesSilentMs: 2_000 } as const;

interface Place {
  readonly folder: string;
  readonly path?: string;
  readonly host?: string;
}

t.test("the lock on balances in memory", async (t) => {
  const { log, lines } = recordedLog();
  const server = await startPostgres();
  const { url } = server;
  const sql = connect({ server: { url }, connectionsMax: 4, statementTimeoutMs: 0, log });
  t.teardown(async () => {
    await sql.end(1);
    await server.stop();
  });
  await migrate(sql);
  t.beforeEach(async () => {
    await sql.query("delete from balances_owner");
  });

  let isIdle = true;
  const lockOf = (
    { folder, path = `/data/${folder}`, host = "h1" }: Place,
    database = databaseOf(sql),
  ) =>
    new BalancesLock({
      ...{ database, session: randomUUID(), path, folder, host, log },
      forgetWallets: () => isIdle,
      times: TIMES,
    });
  /** Stops as a kill does: the row stays. */
  const kill = (lock: BalancesLock) => lock.stop(false);

  t.test("a second gateway is refused, and the message says where the first runs", async (t) => {
    const first = lockOf({ folder: "a" });
    await first.start();
    const refused = /kept by process \d+ on h1 with data folder \/data\/a, last seen at 20\d\d-/;
    await t.rejects(lockOf({ folder: "b" }).start(), refused);
    await t.rejects(refuseOwnedBalances(databaseOf(sql)), refused);
    t.equal(first.refusal(), undefined);
    await first.stop(true);
    await refuseOwnedBalances(databaseOf(sql));
    const next = lockOf({ folder: "b" });
    await next.start();
    await next.stop(true);
  });

  t.test(
    "a killed gateway's folder takes the balances again, and no other folder does",
    async (t) => {
      const killed = lockOf({ folder: "a" });
      await killed.start();
      await kill(killed);
      await t.rejects(
        lockOf({ folder: "b" }).start(),
        /data folder of that gateway is lost for good/,
      );
      const next = lockOf({ folder: "a" });
      await next.start();
      await kill(next);
    },
  );

  t.test("a gateway takes the balances that another one leaves while it starts", async (t) => {
    const leaving = lockOf({ folder: "a" });
    await leaving.start();
    const real = databaseOf(sql);
    let reads = 0;
    const database: typeof real = {
      ...real,
      query: async (text, values) => {
        if (text.trimStart().startsWith("select") && text.includes("balances_owner")) {
          reads += 1;
          if (reads === 1) await leaving.stop(true);
          if (reads > 5) throw new Error("it reads the owner again and again");
        }
        return await real.query(text, values);
      },
    };
    const next = lockOf({ folder: "b" }, database);
    await next.start();
    t.equal(next.refusal(), undefined);
    await next.stop(true);
  });

  t.test(
    "a folder that was moved to another host is taken over once its owner is silent",
    async (t) => {
      const owner = lockOf({ folder: "a" });
      await owner.start();
      await kill(owner);
      const moved = lockOf({ folder: "a", host: "h2" });
      await t.resolves(moved.start());
      await kill(moved);
    },
  );

  t.test("a copied folder is refused while the original is in use", async (t) => {
    const original = lockOf({ folder: "a" });
    await original.start();
    await t.rejects(lockOf({ folder: "a", host: "h2" }).start(), /on h1/);
    await t.rejects(lockOf({ folder: "a", path: "/copy" }).start(), /on h1/);
    t.equal(original.refusal(), undefined);
    await original.stop(true);
  });

  t.test(
    "a killed gateway's commit is not carried out after its folder started again",
    async (t) => {
      const clientOf = (name: string) =>
        connect({
          server: { url },
          connectionsMax: 1,
          statementTimeoutMs: 0,
          name,
          log,
        });
      const other = clientOf("another program");
      const killed = clientOf(connectionName(randomUUID()));
      await sql.query("create table late (commit int)");
      await other.query("select pg_advisory_lock(1)");
      const commit = killed.query("insert into late select 1 from pg_advisory_xact_lock(1)");
      const isLost = t.rejects(commit);
      const waiting = `select 1 from ${OWN_STATEMENTS} where wait_event = 'advisory'`;
      await until("the commit waits", async () => (await sql.query(waiting)).length > 0);
      const next = lockOf({ folder: "a" });
      await next.start();
      await other.query("select pg_advisory_unlock(1)");
      await isLost;
      t.strictSame(await sql.query("select * from late"), []);
      await next.stop(true);
      await Promise.all([other.end(1), killed.end(1)]);
    },
  );

  t.test("a gateway that lost the lock sells nothing until it has it again", async (t) => {
    const first = lockOf({ folder: "a" });
    await first.start();
    await sql.query("delete from balances_owner");
    isIdle = false;
    const second = lockOf({ folder: "b" });
    await second.start();
    await until("the first has noticed", () => /data\/b/.test(first.refusal() ?? ""));
    await second.stop(true);
    // Its wallets are stale, and one of them is in use.
    await until("the row is free", () => /none now/.test(first.refusal() ?? ""));
    isIdle = true;
    await until("the first has it again", () => first.refusal() === undefined);
    await t.rejects(second.start(), /data\/a/);
    await first.stop(true);
  });

  t.test(
    "a row that an earlier process of this folder left is taken, and of none other",
    async (t) => {
      const lock = lockOf({ folder: "a" });
      await lock.start();
      for (const [folder, path, isTaken] of [
        ["a", "/data/a", true],
        ["a", "/copy", false],
        ["b", "/data/a", false],
      ] as const) {
        const logged = lines.length;
        // A restored ledger has the row as it was.
        await sql.query("update balances_owner set session = $1, folder = $2, place = $3", [
          ...[randomUUID(), folder, `process 1 on h1 with data folder ${path}`],
        ]);
        await until("the loss is noticed before it ends", () => lines.length > logged);
        if (!isTaken) {
          await delay(10 * TIMES.balancesBeatMs);
          t.ok(lock.refusal(), path);
          await sql.query("delete from balances_owner");
        }
        await until("it has the balances again", () => lock.refusal() === undefined);
        t.match(lines.slice(logged), [{ msg: /^lost/ }, { msg: /again$/ }]);
        t.equal(lines.length, logged + 2, "each is said once");
      }
      await lock.stop(true);
    },
  );

  t.test("the lock survives lost connections", async (t) => {
    const lock = lockOf({ folder: "a" });
    await lock.start();
    const beats = async () => {
      const [row] = await sql.query<{ beats: bigint }>("select beats from balances_owner");
      return row?.beats ?? 0n;
    };
    const before = await beats();
    for (let cut = 0; cut < 5; cut += 1) {
      await sql.query(`select pg_terminate_backend(pid) from ${OWN_STATEMENTS}`).catch(() => {});
    }
    await until("it goes on", async () => (await beats().catch(() => 0n)) > before + 1n);
    t.equal(lock.refusal(), undefined);
    await t.rejects(lockOf({ folder: "b" }).start(), /data\/a/);
    await lock.stop(true);
  });

  t.test("an outage of Postgres takes no lock away, and a stop in it fails nothing", async (t) => {
    const real = databaseOf(sql);
    let isAway = false;
    let asked = 0;
    const database: typeof real = {
      ...real,
      query: async (text, values) => {
        if (!isAway) return await real.query(text, values);
        asked += 1;
        throw new Error("away");
      },
    };
    const lock = lockOf({ folder: "a" }, database);
    await lock.start();
    isAway = true;
    await until("five beats got no reply", () => asked >= 5);
    t.equal(lock.refusal(), undefined);
    await lock.stop(true);
    await t.rejects(lockOf({ folder: "b" }).start(), /data\/a/, "its row stays");
  });
});
