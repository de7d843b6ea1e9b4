import t from "tap";
import { admin, committedWallet, createCustomer, wallet } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { callMicroVnd, callOnce } from "../../support/outage.ts";
import { assertReconciled, microVnd, runReconcile } from "../../support/proof.ts";
import { until } from "../../support/until.ts";
import { runCli } from "./cli-runs.ts";

const CREDIT_VND = 100;

t.test("npm run admin -- quarantine", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  const run = (...args: string[]) =>
    runCli([...args, "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  /** Makes a call that the ledger refuses: its balance is altered to less than the wallet's. */
  const refusedCall = async () => {
    const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
    const { accountId } = customer;
    t.equal((await callOnce(gateway, customer, 0)).status, 200);
    await committedWallet(gateway, accountId);
    const setBalance = (microVnd: bigint) =>
      ledgerSql(
        gateway,
        `update wallets set balance = ${microVnd} where account_id = '${accountId}'`,
      );
    await setBalance(0n);
    t.equal((await callOnce(gateway, customer, 0)).status, 200);
    let listed: Record<string, unknown>[] = [];
    await until("the call is in quarantine", async () => {
      listed = JSON.parse((await run("quarantine", "list")).stdout);
      return listed.some((call) => call["account_id"] === accountId);
    });
    return { accountId, listed, setBalance };
  };

  t.test("lists what the ledger refused, and commits it once the cause is fixed", async (t) => {
    const { accountId, listed, setBalance } = await refusedCall();
    t.equal(listed.length, 1);
    const [call] = listed;
    t.equal(call?.["account_id"], accountId);
    t.equal(microVnd(call?.["cost_vnd"]), callMicroVnd(0));
    const callId = String(call?.["call_id"]);

    const refused = await run("quarantine", "retry", "--call", callId);
    t.equal(refused.code, 1);
    t.match(refused.stderr, /still refuses this call/);

    await setBalance(microVnd(CREDIT_VND) - callMicroVnd(0));
    t.equal((await runReconcile(gateway)).code, 1);
    const retried = await run("quarantine", "retry", "--call", callId);
    t.equal(retried.code, 0, retried.stderr);
    const { body } = await admin(gateway, "GET", `/actions?account=${accountId}`);
    const said = `committed the call ${callId} of `;
    t.ok(JSON.stringify(body).includes(said), "it is in the trail of its customer");
    t.strictSame(JSON.parse(retried.stdout), { call_id: callId, status: "settled" });
    await assertReconciled(gateway);
    const { balance } = await wallet(gateway, accountId);
    t.equal(microVnd(CREDIT_VND) - microVnd(balance), 2n * callMicroVnd(0));
    t.equal((await run("quarantine", "list")).stdout.trim(), "[]");
    t.equal((await run("quarantine", "retry", "--call", callId)).code, 1);
  });

  t.test("lists an entry of a newer version, and says what to do with it", async (t) => {
    const text = '{"v":2,"call_id":"later","account_id":"A","charged":7000000}';
    await ledgerSql(
      gateway,
      `insert into quarantine (call_id, account_id, charged, entry, error)
      values ('later', 'A', 7000000, '${text}', 'cannot read it')`,
    );
    const [row] = JSON.parse((await run("quarantine", "list")).stdout);
    t.match(row, { call_id: "later", account_id: "A", at: null, model: null, cost_vnd: "7" });
    const refused = await run("quarantine", "retry", "--call", "later");
    t.equal(refused.code, 1);
    t.match(refused.stderr, /of version 2.*Install the version of the gateway that wrote it/s);
  });

  t.test("commits all that can be committed, past those that are still refused", async (t) => {
    const { setBalance, accountId } = await refusedCall();
    await setBalance(microVnd(CREDIT_VND) - callMicroVnd(0));
    const { code, stdout } = await run("quarantine", "retry-all");
    t.equal(code, 1);
    const { settled, still_refused: stillRefused, calls } = JSON.parse(stdout);
    t.strictSame([settled, stillRefused], [1, 1]);
    t.match(calls, { later: /of version 2/ });
    const { balance } = await wallet(gateway, accountId);
    t.equal(microVnd(CREDIT_VND) - microVnd(balance), 2n * callMicroVnd(0));
    const again = JSON.parse((await run("quarantine", "retry-all")).stdout);
    t.strictSame([again.settled, again.still_refused], [0, 1]);
    await ledgerSql(gateway, "delete from quarantine");
    t.equal((await run("quarantine", "retry-all")).code, 0);
  });
});
