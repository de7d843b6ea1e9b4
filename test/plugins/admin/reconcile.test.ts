import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Customer, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { runCli } from "./cli-process.ts";

describe("npm run admin -- reconcile", () => {
  let gateway: TestGateway;
  let customer: Customer;
  before(async () => {
    gateway = await startGateway();
    customer = await createCustomer(gateway, { creditVnd: 100 });
    await createCustomer(gateway, { creditVnd: "0.000001" });
  });
  after(() => gateway.close());

  const reconcile = () =>
    runCli(["reconcile", "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  it("exits 0 where all books agree, with calls going on", async () => {
    const calls = Promise.all(Array.from({ length: 50 }, () => call(customer.key)));
    const { code, stdout } = await reconcile();
    assert.equal(code, 0, stdout);
    assert.deepEqual(JSON.parse(stdout), {
      drift: false,
      wallets: 2,
      drifting_wallets: 0,
      limits: 0,
      drifting_limits: 0,
      rows: [],
    });
    await calls;
    assert.equal((await reconcile()).code, 0);
  });

  it("exits 1 on a drift of 1 µđ and shows the row (guarantee 4)", async () => {
    const { accountId } = customer;
    await ledgerSql(
      gateway,
      `update wallets set balance = balance + 1 where account_id = '${accountId}'`,
    );
    await gateway.stop();
    await gateway.start();
    const { code, stdout } = await reconcile();
    assert.equal(code, 1);
    const { rows, ...summary } = JSON.parse(stdout);
    const limits = { limits: 0, drifting_limits: 0 };
    assert.deepEqual(summary, { drift: true, wallets: 2, drifting_wallets: 1, ...limits });
    assert.equal(rows.length, 1);
    assert.equal(rows[0].account_id, customer.accountId);
    assert.equal(rows[0].drift_vnd, "0.000001");
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
