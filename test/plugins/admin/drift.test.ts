import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { ledgerSql, withLedger } from "../../support/ledger-sql.ts";
import { createOperator, type TestOperator } from "../../support/operators.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startRedisServer } from "../../support/redis.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { runCli } from "./cli-runs.ts";

const BOUNDS = { finance: 5_000_000, owner: 5_000_000, admin_token: 9_007_199_254 };

for (const stores of ["embedded stores", "Redis and Postgres"]) {
  t.test(`a drift of each kind is explained, and mended by the command: ${stores}`, async (t) => {
    const isShared = stores !== "embedded stores";
    const postgres = isShared ? await startPostgres() : undefined;
    const redis = isShared ? await startRedisServer() : undefined;
    const gateway = await startGateway({
      plugins: { operators: { second_person_above_vnd: BOUNDS } },
      ...(postgres && redis && { config: { stores: { ledger: postgres.url, hot: redis.url } } }),
    });
    t.teardown(async () => {
      await gateway.close();
      await redis?.stop();
      await postgres?.stop();
    });
    const run = (...args: string[]) =>
      runCli([...args, "--json"], {
        env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
      });
    const show = async ({ accountId }: Customer, ...more: string[]) =>
      JSON.parse((await run("drift", "show", "--account", accountId, ...more)).stdout);
    const mend = ({ accountId }: Customer, vnd: string, ...more: string[]) =>
      run("drift", "mend", "--account", accountId, "--difference-vnd", vnd, "--yes", ...more);
    const reconciled = async (message: string) => {
      const { code, stdout } = await run("reconcile", "--full");
      t.equal(code, 0, `${message}: ${stdout}`);
    };

    t.test("a stored balance that was changed: it is added up again from the rows", async (t) => {
      const customer = await customerOf(gateway);
      await set(gateway, `update wallets set balance = balance + 5000000 ${of(customer)}`);
      // The next charge has a balance after it that does not follow from the row before.
      await call(gateway, customer);
      t.equal((await run("reconcile")).code, 1);
      t.match(await show(customer), {
        cause: "balance",
        difference_vnd: "-5",
        can_be_mended: true,
        broken_rows: 1,
      });
      t.match((await mend(customer, "-6")).stderr, /The difference is -5 đ now/);
      const { code, stdout } = await mend(customer, "-5");
      t.equal(code, 0, stdout);
      t.match(JSON.parse(stdout), { cause: "none", difference_vnd: "0" });
      await reconciled("after a changed balance");
      t.equal((await mend(customer, "-5")).code, 1, "it is mended once");
    });

    t.test("an amount that is loaded and not in the ledger: it is loaded again", async (t) => {
      const customer = await customerOf(gateway, { isCalled: false });
      await set(gateway, `update wallets set balance = balance + 7000000 ${of(customer)}`);
      await call(gateway, customer);
      await set(gateway, `update wallets set balance = balance - 7000000 ${of(customer)}`);
      t.match(await show(customer), { cause: "loaded", difference_vnd: "-7" });
      t.equal((await mend(customer, "-7")).code, 0);
      await call(gateway, customer);
      await reconciled("after a wrong load");
    });

    t.test("rows that were changed: the difference is booked, the rows stay", async (t) => {
      const changes = [
        ["charge", "amount = amount - 3000000", "3", 3],
        ["topup", "amount = amount + 2000000", "-2", -2],
      ] as const;
      for (const [kind, change, vnd] of changes) {
        const customer = await customerOf(gateway);
        await call(gateway, customer);
        const before = await balanceOf(gateway, customer);
        await rewrite(
          gateway,
          `update ledger_entries set ${change} ${of(customer)} and kind = '${kind}'
          and id = (select min(id) from ledger_entries ${of(customer)} and kind = '${kind}')`,
        );
        t.equal((await run("reconcile", "--full")).code, 1);
        t.match(await show(customer), { cause: "rows", difference_vnd: vnd });
        t.equal((await mend(customer, vnd)).code, 0);
        t.equal(
          await balanceOf(gateway, customer),
          before,
          "the customer keeps the proven balance",
        );
        await call(gateway, customer);
        await reconciled(`after a changed ${kind}`);
        const { body } = await admin(gateway, "GET", `/accounts/${customer.accountId}/ledger`);
        t.match(JSON.stringify(body), /"reason":"drift"/);
        // It is not taken for a movement: another drift of the same wallet is proven too.
        await set(gateway, `update wallets set balance = balance + 1000000 ${of(customer)}`);
        t.match(await show(customer), { cause: "balance", difference_vnd: "-1" });
        t.equal((await mend(customer, "-1")).code, 0);
        await reconciled("after both");
      }
    });

    t.test("a purse that was changed: it is added up again, and no money moves", async (t) => {
      const customer = await customerOf(gateway, { isCalled: false });
      const limit = ["--key", customer.keyId, "--day-vnd", "5000"];
      t.equal((await run("key", "restrict", ...limit)).code, 0);
      await call(gateway, customer);
      await call(gateway, customer);
      await set(gateway, `update purses set charged = charged + 4000000 ${of(customer)}`);
      const { rows } = JSON.parse((await run("reconcile")).stdout);
      const { purse } = rows[0];
      t.match(await show(customer, "--purse", purse), { cause: "balance", difference_vnd: "4" });
      t.equal((await mend(customer, "4", "--purse", purse)).code, 0);
      await reconciled("after a changed purse");
    });

    t.test("more in quarantine than a wallet has is the cause, loaded or not", async (t) => {
      const rich = await customerOf(gateway, { isCalled: false });
      const empty = await createCustomer(gateway);
      t.match(await show(empty), { cause: "none" });
      for (const [customer, missing] of [
        [empty, "-30000"],
        [rich, "-10000"],
      ] as const) {
        await ledgerSql(
          gateway,
          `delete from quarantine;
          insert into quarantine (call_id, account_id, charged, entry, error)
          values ('q', '${customer.accountId}', 30000000000, '{}', 'x')`,
        );
        const known = { cause: "quarantine", can_be_mended: false, next: /once the balance/ };
        t.match(await show(customer), { ...known, loaded_vnd: missing });
        const response = await post(gateway, paths.messages, customer, bodies.messages({}));
        t.equal(response.status, 402, response.text);
        t.match(await show(customer), { ...known, loaded_vnd: "0", quarantined_vnd: "30000" });
      }
      // Now 0 is the wrong amount.
      await ledgerSql(gateway, "delete from quarantine");
      t.match(await show(rich), { cause: "loaded", difference_vnd: "20000" });
      t.equal((await mend(rich, "20000")).code, 0);
      await call(gateway, rich);
      await reconciled("after the quarantine");
    });

    t.test("more than the bound needs a second person, and the audit trail says it", async (t) => {
      const customer = await customerOf(gateway);
      await set(gateway, `update wallets set balance = balance + 6000000000000 ${of(customer)}`);
      const finance = await createOperator(gateway, "finance");
      const path = `/accounts/${customer.accountId}/drift`;
      const sent = { difference_vnd: "-6000000", reason: "changed by hand" };
      const first = await admin(finance.session, "POST", path, { ...sent, confirm_above_vnd: "0" });
      t.match(JSON.stringify(first.body), /confirmation_needed/);
      t.match(
        JSON.stringify((await admin(finance.session, "POST", path, sent)).body),
        /approval_needed/,
      );
      t.equal((await run("reconcile")).code, 1);
      await approveAll(gateway, await createOperator(gateway, "owner"));
      await reconciled("after the second person");
      const { stdout } = await run("actions", "--limit", "20");
      t.match(stdout, /mended a drift of -6,000,000 đ .*changed by hand/);
      const viewer = await createOperator(gateway, "viewer");
      t.equal((await admin(viewer.session, "POST", path, sent)).status, 403);
    });

    t.test("what heals by itself says so, and what nothing proves is not mended", async (t) => {
      const customer = await customerOf(gateway, { isCalled: false });
      t.match(await show(customer), { cause: "none", can_be_mended: false });
      const { accountId } = customer;
      await ledgerSql(
        gateway,
        `insert into quarantine (call_id, account_id, charged, entry, error)
        values ('q', '${accountId}', 1000000, '{}', 'x')`,
      );
      t.match(await show(customer), { cause: "quarantine", next: /quarantine retry/ });
      t.equal((await mend(customer, "-1")).code, 1);
      await ledgerSql(gateway, "delete from quarantine");
      await call(gateway, customer);
      await run("reconcile");
      await set(gateway, `update proven_wallets set amount = amount + 1 ${of(customer)}`);
      t.match(await show(customer), { cause: "proof", next: /reconcile --full/ });
      await reconciled("after a changed proof");
      await set(gateway, `update wallets set credited = credited + 1000000 ${of(customer)}`);
      await rewrite(
        gateway,
        `update ledger_entries set amount = amount - 1 ${of(customer)} and kind = 'charge'`,
      );
      t.match(await show(customer), { cause: "unproven", can_be_mended: false, proven_vnd: null });
      t.match((await mend(customer, "1")).stderr, /prove no amount|The difference is/);
      t.match(
        (await run("drift", "show", "--account", customer.keyId)).stderr,
        /No account|no account/,
      );
    });
  });
}

const of = ({ accountId }: Customer) => `where account_id = '${accountId}'`;

async function customerOf(gateway: TestGateway, { isCalled = true } = {}): Promise<Customer> {
  const customer = await createCustomer(gateway, { creditVnd: 20_000 });
  if (isCalled) await call(gateway, customer);
  return customer;
}

/** Resolves once the call is in the ledger. */
async function call(gateway: TestGateway, customer: Customer): Promise<void> {
  const response = await post(gateway, paths.messages, customer, bodies.messages({}));
  assert.equal(response.status, 200, response.text);
  await until("it is committed", async () => {
    const { body } = await admin(gateway, "GET", `/accounts/${customer.accountId}/wallet`);
    return body["pending_vnd"] === "0" && body["held_vnd"] === "0";
  });
}

async function balanceOf(gateway: TestGateway, { accountId }: Customer): Promise<unknown> {
  return (await admin(gateway, "GET", `/accounts/${accountId}/wallet`)).body["balance_vnd"];
}

const set = ledgerSql;

/** Changes rows of the ledger, as someone who may switch its triggers off. */
async function rewrite(gateway: TestGateway, statement: string): Promise<void> {
  await withLedger(gateway, async (sql) => {
    await sql.script(`begin; set local session_replication_role = replica; ${statement}; commit`);
  });
}

async function approveAll(gateway: TestGateway, { session }: TestOperator): Promise<void> {
  const { body } = await admin(gateway, "GET", "/approvals?state=pending");
  const [waiting] = body["list"] as { id: string }[];
  const approved = await admin(session, "POST", `/approvals/${waiting?.id}/approve`, {});
  assert.equal(approved.status, 200, JSON.stringify(approved.body));
}
