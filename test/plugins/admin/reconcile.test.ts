import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { arrayOf, isObject } from "../../../core/process/json.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { bodyOf } from "../../support/ask.ts";
import { startGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { until } from "../../support/until.ts";
import { runCli, runCliProcess } from "./cli-runs.ts";

t.test("npm run admin -- reconcile", async (t) => {
  const gateway = await startGateway();
  const customer = await createCustomer(gateway, { creditVnd: 100 });
  await createCustomer(gateway, { creditVnd: "0.000001" });
  t.teardown(() => gateway.close());

  const run = (...args: string[]) =>
    runCli([...args, "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });
  const reconcile = (...args: string[]) => run("reconcile", ...args);

  t.test("exits 0 if all books agree while calls run", async (t) => {
    const calls = Promise.all(Array.from({ length: 50 }, () => call(customer.key)));
    const { code, stdout } = await reconcile();
    t.equal(code, 0, stdout);
    t.strictSame(JSON.parse(stdout), {
      drift: false,
      wallets: 2,
      drifting_wallets: 0,
      purses: 0,
      drifting_purses: 0,
      rows: [],
      overdue: 0,
      overdue_rows: [],
    });
    await calls;
    t.equal((await reconcile()).code, 0);
  });

  t.test(
    "exits 1 if money is held for longer than a call may last, and says by which",
    async (t) => {
      const client = await RawClient.open(gateway.port);
      const body = bodyOf("/v1/messages", { hang: true }, { stream: true });
      await client.send(rawPost("/v1/messages", customer.key, body));
      const held = async () =>
        arrayOf((await admin(gateway, "GET", "/holds")).body["list"]).filter(isObject);
      await until(
        "the hold is two seconds old",
        async () => Number((await held())[0]?.["age_seconds"]) >= 2,
      );
      const [hold, ...others] = JSON.parse((await run("holds", "list")).stdout);
      t.strictSame(others, []);
      t.match(hold, { kind: "hold", account_id: customer.accountId, movement: null });
      t.match(hold, { call_id: /^[0-9a-f-]{36}$/, process: /./ });
      t.ok(Number(hold.amount_vnd) > 0);
      t.equal((await reconcile()).code, 0, "within the time of a call");
      const { code, stdout } = await reconcile("--older-than-seconds", "1");
      t.equal(code, 1);
      const { drift, overdue, overdue_rows: rows } = JSON.parse(stdout);
      t.strictSame([drift, overdue, rows.length], [false, 1, 1]);
      t.equal(rows[0].call_id, hold.call_id);
      client.destroy();
      await until("nothing is held", async () => (await held()).length === 0);
      t.equal((await reconcile("--older-than-seconds", "1")).code, 0);
      t.match((await reconcile("--older-than-seconds", "0")).stderr, /whole number of seconds/);
    },
  );

  t.test(
    "--full exits 1 if an amount was changed by hand, as each reconcile after it",
    async (t) => {
      await call(customer.key);
      t.equal((await reconcile("--full")).code, 0);
      const change = (by: number) =>
        ledgerSql(
          gateway,
          `alter table ledger_entries_rest disable trigger ledger_entries_append_only;
        update ledger_entries_rest set amount = amount + ${by} where account_id = '${customer.accountId}';
        alter table ledger_entries_rest enable trigger ledger_entries_append_only;`,
        );
      await change(1);
      for (const options of [["--full"], []]) {
        const { code, stdout } = await reconcile(...options);
        t.equal(code, 1);
        t.match(JSON.parse(stdout), { drift: true, rows: [{ account_id: customer.accountId }] });
      }
      await change(-1);
      t.equal((await reconcile("--full")).code, 0);
    },
  );

  t.test("exits 1 on a drift of 1 µđ and prints the row (guarantee 4)", async (t) => {
    const { accountId } = customer;
    await ledgerSql(
      gateway,
      `update wallets set balance = balance + 1 where account_id = '${accountId}'`,
    );
    await gateway.stop();
    await gateway.start();
    const { code, stdout } = await reconcile();
    t.equal(code, 1);
    const { rows, ...summary } = JSON.parse(stdout);
    const purses = { purses: 0, drifting_purses: 0, overdue: 0, overdue_rows: [] };
    t.strictSame(summary, { drift: true, wallets: 2, drifting_wallets: 1, ...purses });
    t.equal(rows.length, 1);
    t.equal(rows[0].account_id, customer.accountId);
    t.equal(rows[0].drift_vnd, "0.000001");
  });

  async function call(key: string): Promise<void> {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: '{"model":"claude-haiku-5-5","max_tokens":1,"messages":[{"role":"user","content":"x"}]}',
    });
    await response.arrayBuffer();
  }
});

t.test("reconcile warns of an open transaction", async (t) => {
  const since = "2026-03-01T00:00:00.000Z";
  const server = createServer((request, response) => {
    const held = { pid: 4711, name: "pg_dump", since };
    const proof = { done: true, held_up_by: held };
    const body = request.url?.includes("/proof") ? proof : { drift: false, overdue: 0 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const env = { GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_ADMIN_TOKEN: "a".repeat(40) };
  const { code, stderr } = await runCliProcess(["reconcile", "--json"], { env });
  t.equal(code, 0, stderr);
  t.match(stderr, /^warning: .* \(process 4711, pg_dump\) has been open since 2026-03-01T00:00/);
});
