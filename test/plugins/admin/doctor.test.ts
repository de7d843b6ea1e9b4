import assert from "node:assert/strict";
import t from "tap";
import { objectOf } from "../../../core/process/json.ts";
import { createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { notify, topupPlugins, transfer } from "../topup/topups.ts";
import { runCli } from "./cli-runs.ts";

const KEYS = ["key-of-the-first-one", "key-of-the-second"];

t.test("npm run admin -- doctor", async (t) => {
  const gateway = await startGateway({
    plugins: topupPlugins(),
    config: { upstreams: { anthropic: { keys: KEYS } } },
  });
  t.teardown(() => gateway.close());

  const run = (command: string) =>
    runCli([...command.split(" "), "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  async function findings(): Promise<{ problem: string; detail: string; command: string }[]> {
    const { code, stdout, stderr } = await run("doctor");
    assert.equal(stderr, "");
    const { findings = [] } = JSON.parse(stdout);
    assert.equal(code, findings.length === 0 ? 0 : 1);
    return findings;
  }

  t.test("says that all is well, and what it has checked", async (t) => {
    const { code, stdout } = await run("doctor");
    t.equal(code, 0, stdout);
    const checked = "reconcile, quarantine list, upstreams, servers, maintenance, transfer list";
    const value = objectOf(JSON.parse(stdout));
    t.strictSame(String(value?.["checked"]).split(", ").sort(), checked.split(", ").sort());
    t.equal(value?.["state"], "all is well");
  });

  t.test("shows all that needs an operator, each with a command that ends it", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 500 });
    const model = bodies.messages({ status: 401 });
    t.equal((await post(gateway, paths.messages, caller, model)).status, 502);
    const told = transfer({ content: "thank you" });
    t.equal((await notify(gateway, told)).status, 200);
    const later = '{"v":2,"call_id":"later","account_id":"A","charged":7000000}';
    await ledgerSql(
      gateway,
      `insert into quarantine (call_id, account_id, charged, entry, error)
      values ('later', 'A', 7000000, '${later}', 'cannot read it')`,
    );
    const { accountId } = caller;
    const alter = (sign: string) =>
      ledgerSql(
        gateway,
        `update wallets set balance = balance ${sign} 1 where account_id = '${accountId}'`,
      );
    await alter("+");
    t.equal((await run("maintenance on --reason test")).code, 0);
    t.equal((await run("upstream off --name openai --reason test")).code, 0);

    const found = await findings();
    const commands = found.map(({ problem, command }) => `${problem}: ${command}`);
    for (const expected of [
      `the books disagree: drift show --account ${accountId}`,
      "the ledger refused a call: quarantine retry --call later",
      "a key rests: upstream off --name anthropic --key=-one --reason TEXT",
      "a key rests: upstream off --name anthropic --key=cond --reason TEXT",
      "an upstream is switched off: upstream on --name openai --reason TEXT",
      "maintenance is on: maintenance off",
    ]) {
      t.ok(commands.includes(expected), `${expected}\n${commands.join("\n")}`);
    }
    const unmatched = found.find(({ problem }) => problem === "a transfer has no customer");
    t.match(unmatched?.detail, /^100000 đ, .*thank you/);
    t.match(unmatched?.command, /^transfer assign --transfer \S+ --account EMAIL --reason TEXT$/);
    t.notMatch(JSON.stringify(found), /key-of-the/);

    const offKey = "upstream off --name anthropic --key=-one --reason TEXT";
    t.equal((await run(offKey)).code, 0, "a command can be run as it is shown");
    await alter("-");
    t.equal((await run("maintenance off")).code, 0);
    t.equal((await run("upstream on --name openai --reason test")).code, 0);
    const left = (await findings()).map(({ problem }) => problem);
    for (const gone of ["the books disagree", "maintenance is on", "an upstream is switched off"]) {
      t.notOk(left.includes(gone), gone);
    }
  });
});
