import t from "tap";
import { type Customer, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { runCli } from "./cli-process.ts";

t.test("npm run admin -- reconcile", async (t) => {
  let gateway: TestGateway;
  let customer: Customer;
  t.before(async () => {
    gateway = await startGateway();
    customer = await createCustomer(gateway, { creditVnd: 100 });
    await createCustomer(gateway, { creditVnd: "0.000001" });
  });
  t.teardown(() => gateway.close());

  const reconcile = () =>
    runCli(["reconcile", "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  t.test("exits 0 if all books agree while calls run", async (t) => {
    const calls = Promise.all(Array.from({ length: 50 }, () => call(customer.key)));
    const { code, stdout } = await reconcile();
    t.equal(code, 0, stdout);
    t.strictSame(JSON.parse(stdout), {
      drift: false,
      wallets: 2,
      drifting_wallets: 0,
      limits: 0,
      drifting_limits: 0,
      rows: [],
    });
    await calls;
    t.equal((await reconcile()).code, 0);
  });

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
    const limits = { limits: 0, drifting_limits: 0 };
    t.strictSame(summary, { drift: true, wallets: 2, drifting_wallets: 1, ...limits });
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
