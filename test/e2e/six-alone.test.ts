import assert from "node:assert/strict";
import { createHook, executionAsyncId } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Gateway } from "../../core/boot/gateway.ts";
import { MICRO_VND_PER_VND, parseVnd } from "../../core/catalogue/amount.ts";
import { endpoints } from "../../core/catalogue/endpoint.ts";
import { formatProblems, loadConfig } from "../../core/config/load.ts";
import { connect, type Sql } from "../../core/database/client.ts";
import { migrate } from "../../core/database/migrate.ts";
import type { ReconcileRow } from "../../core/money/wallet.ts";
import { createLog } from "../../core/process/log.ts";
import { type ConfigChanges, testConfig, writeConfig } from "../support/gateway-config.ts";
import { recordedLog } from "../support/log.ts";
import { startPostgres } from "../support/postgres.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { startTestSimulator } from "../support/simulator.ts";
import { until } from "../support/until.ts";

/** The other lines of the shipped list: each before what it needs. */
const OTHERS = [
  "by-key",
  "operators",
  "console",
  "report",
  "prices",
  "servers",
  "admin",
  "statements",
  "teams",
  "dashboard",
  "vouchers",
  "topup",
  "accounts",
  "messages",
  "maintenance",
  "metrics",
  "switches",
] as const;
const WITHOUT = Object.fromEntries(OTHERS.map((name) => [name, false] as const));

interface Place {
  readonly sql: Sql;
  /** Loads the config of a gateway with the shipped plugins less `without`. */
  config(plugins: ConfigChanges["plugins"]): ReturnType<typeof loadedConfig>;
}

t.test("auth, rate-limit, alias, translate, meter and settle are a gateway", async (t) => {
  const simulator = await startTestSimulator();
  t.teardown(() => simulator.stop());
  const place = await emptyPlace(t, simulator.port);
  const gateway = await Gateway.start(await place.config(WITHOUT), createLog("silent"));
  t.teardown(() => gateway.stop());

  t.test("that charges a call and proves its books", async (t) => {
    const { accounts, keys, wallets, balances, operations } = gateway.services;
    const accountId = randomUUID();
    await accounts.create({ id: accountId, email: "someone@example.com" });
    const key = await keys.create(accountId, "laptop", 1);
    assert.equal(key.kind, "created");
    const credit = { accountId, amountMicroVnd: 1000n * BigInt(MICRO_VND_PER_VND) };
    await wallets.current.credit({ ...credit, kind: "topup", reference: "first", reason: null });
    const reply = await post({ url: gateway.address }, paths.chat, key, bodies.chat());
    assert.equal(reply.status, 200, reply.text);
    const cost = parseVnd(reply.headers.get("x-svc-cost-vnd") ?? "");
    assert.ok(cost && cost > 0n);
    await until("the call is committed", async () => {
      const parts = await balances(accountId);
      return parts?.uncommittedMicroVnd === 0 && parts.heldMicroVnd === 0;
    });
    const rows: ReconcileRow[] = [];
    for await (const row of operations.current.reconcile()) rows.push(row);
    t.strictSame(
      rows.map((row) => [row.accountId, row.ledgerSumMicroVnd, row.driftMicroVnd]),
      [[accountId, credit.amountMicroVnd - cost, 0n]],
    );
  });

  t.test("with the routes of calls, models and health, and no other", async (t) => {
    t.strictSame(
      routesOf(gateway),
      [
        "GET /healthz",
        "GET /readyz",
        "GET /v1/calls/:call",
        "GET /v1/models",
        "GET /v1/models/*",
        "POST /v1/messages/count_tokens",
        ...endpoints.map(({ path }) => `POST ${path}`),
      ].sort(),
    );
  });

  t.test("with the tables of core, and no other", async (t) => {
    const core = await emptyPlace(t, simulator.port);
    await migrate(core.sql);
    t.strictSame(await tablesOf(place.sql), await tablesOf(core.sql));
  });
});

t.test("a feature whose line is deleted leaves nothing that runs", async (t) => {
  const timers = watchTimers(t);
  const simulator = await startTestSimulator();
  t.teardown(() => simulator.stop());
  const place = await emptyPlace(t, simulator.port);
  const gateway = await Gateway.start(await place.config({}), createLog("silent"));
  t.teardown(() => gateway.stop());
  const before = new Set(routesOf(gateway));

  const gone: Record<string, false> = {};
  for (const name of OTHERS) {
    t.test(name, async (t) => {
      gone[name] = false;
      await gateway.reload(await place.config(gone));
      await until(
        () => `the timers of ${name} have stopped: ${timers.of(name).join("\n\n")}`,
        () => timers.of(name).length === 0,
      );
      t.pass();
    });
  }

  t.test("and no route", async (t) => {
    const after = routesOf(gateway);
    t.ok(before.size > after.length);
    t.strictSame(
      after.filter((route) =>
        /dashboard|console|account\/|admin|metrics|sepay|api\/v1|balance|usage|openapi/.test(route),
      ),
      [],
    );
  });
});

/** A data folder and an empty database, for gateways in the test's own process. */
async function emptyPlace(t: Test, simulatorPort: number): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const postgres = await startPostgres();
  const server = { url: postgres.url };
  const { log } = recordedLog();
  const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 30_000, log });
  t.teardown(async () => {
    await sql.end(1);
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const around = { port: 0, data: folder, ledger: postgres.url, simulatorPort, adminToken: "t" };
  return {
    sql,
    config(plugins) {
      // The token is refused without the plugin that checks it.
      const config = plugins?.["admin"] === false ? { admin: undefined } : {};
      const changed = testConfig({ plugins, config }, around);
      return loadedConfig(join(folder, "gateway.yaml"), changed);
    },
  };
}

async function loadedConfig(file: string, config: ReturnType<typeof testConfig>) {
  writeConfig(file, config);
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return loaded.config;
}

function routesOf(gateway: Gateway): string[] {
  return gateway.router
    .all()
    .map(({ method, path }) => `${method} ${path}`)
    .sort();
}

async function tablesOf(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Finds the timers that run for a plugin, with the stack that set them: those that its code sets, and those that their
 * callbacks set, as a repeated task does. Connections to Postgres, which all plugins share, set timers of their own.
 */
function watchTimers(t: Test): { of(plugin: string): string[] } {
  const owners = new Map<number, string>();
  const running = new Map<number, string>();
  const hook = createHook({
    init(id, type, trigger) {
      const isTimer = type === "Timeout";
      const inherited = owners.get(executionAsyncId()) ?? owners.get(trigger);
      const stack = isTimer || inherited === undefined ? (new Error("set here").stack ?? "") : "";
      const owner = /\/dist\/plugins\/([\w-]+)\//.exec(stack)?.[1] ?? inherited;
      if (owner === undefined) return;
      owners.set(id, owner);
      if (isTimer && !/node_modules|core\/database/.test(stack)) running.set(id, stack);
    },
    destroy: (id) => void running.delete(id),
  });
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 40;
  hook.enable();
  t.teardown(() => {
    hook.disable();
    Error.stackTraceLimit = stackTraceLimit;
  });
  return {
    of: (plugin) => [...running].filter(([id]) => owners.get(id) === plugin).map(([, at]) => at),
  };
}
