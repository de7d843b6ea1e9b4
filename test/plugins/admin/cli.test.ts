import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isObject } from "../../../core/process/json.ts";
import { committedWallet, createCustomer } from "../../support/admin.ts";
import { freePort } from "../../support/free-port.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { runCli } from "./cli-process.ts";

const NOBODY = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

describe("npm run admin", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ config: { admin: undefined } });
  });
  after(() => gateway.close());

  /** Runs a command in the folder of the gateway, where it finds the token. */
  const run = (...args: string[]) =>
    runCli(args, { env: { GATEWAY_URL: gateway.url }, cwd: gateway.folder });

  /** The answer of a command that must succeed, on one line. */
  async function answer(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await run(...args, "--json");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^[{[].*[}\]]\n$/);
    const value: unknown = JSON.parse(stdout);
    return isObject(value) ? value : { list: value };
  }

  it("makes an account, a key and a credit, and answers the contract's fields", async () => {
    const account = await answer("account", "create", "--email", "cli@example.com");
    assert.deepEqual(Object.keys(account).sort(), ["email", "id"]);
    const id = String(account["id"]);
    const key = await answer("key", "create", "--account", id, "--name", "laptop");
    assert.deepEqual(Object.keys(key).sort(), ["id", "key"]);
    const credit = ["credit", "--account", id, "--reference", "cli-1", "--amount-vnd"];
    assert.equal((await answer(...credit, "50000"))["balance_vnd"], "50000");
    assert.equal((await answer(...credit, "50000"))["balance_vnd"], "50000");
    const less = ["credit", "--account", id, "--reference", "cli-2", "--amount-vnd", "-0.5"];
    assert.equal((await answer(...less, "--reason", "fee"))["balance_vnd"], "49999.5");
    assert.deepEqual(await answer("wallet", "--account", id), {
      balance_vnd: "49999.5",
      held_vnd: "0",
      available_vnd: "49999.5",
      pending_vnd: "0",
    });
    assert.deepEqual(await answer("usage", "--account", id), { list: [] });
    const revoked = await answer("key", "revoke", "--key", String(key["id"]));
    assert.equal(revoked["status"], "revoked");
    const { list } = await answer("account", "list");
    assert.ok(Array.isArray(list) && list.some((one) => one.id === id));
  });

  it("prints the same JSON over several lines without --json", async () => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 7 });
    for (const command of [
      ["wallet", "--account", accountId],
      ["account", "list"],
    ]) {
      const long = await run(...command);
      const short = await run(...command, "--json");
      assert.ok(long.stdout.split("\n").length > 4);
      assert.deepEqual(JSON.parse(long.stdout), JSON.parse(short.stdout));
    }
    const none = await run("usage", "--account", accountId);
    assert.equal(none.stdout, "[]\n");
  });

  it("shows all usage, over the page size of the API, or as much as --limit", async () => {
    const { accountId, key } = await createCustomer(gateway, { creditVnd: 1000 });
    const calls = 1003;
    for (let sent = 0; sent < calls; sent += 59) {
      await Promise.all(Array.from({ length: Math.min(59, calls - sent) }, () => call(key)));
    }
    await committedWallet(gateway, accountId);
    const { list: all } = await answer("usage", "--account", accountId);
    assert.ok(Array.isArray(all));
    assert.deepEqual([all.length, new Set(all.map((one) => one.call_id)).size], [calls, calls]);
    const long = await run("usage", "--account", accountId, "--limit", "1001");
    assert.equal(JSON.parse(long.stdout).length, 1001);
    const { list } = await answer("usage", "--account", accountId, "--limit", "2");
    assert.ok(Array.isArray(list) && list.length === 2);
  });

  it("exits 1 where the gateway refuses, with its message on stderr alone", async () => {
    for (const [args, message] of [
      [["wallet", "--account", NOBODY], /There is no account 01a1f8dd/],
      [["account", "create", "--email", "no address"], /email: expected an e-mail address/],
      [["key", "revoke", "--key", NOBODY], /There is no such key/],
      [["account", "list", "--token", "x".repeat(20)], /Set GATEWAY_ADMIN_TOKEN or --token/],
      [["account", "list", "--url", gateway.simulator.url], /has no admin API.*--url/],
    ] as const) {
      const { code, stdout, stderr } = await run(...args);
      assert.deepEqual([code, stdout], [1, ""], args.join(" "));
      assert.match(stderr, message);
    }
  });

  it("exits 2 on a wrong command line and says how it is written", async () => {
    for (const [args, message] of [
      [[], /npm run admin -- COMMAND/],
      [["acount", "list"], /there is no command "acount list"/],
      [["wallet"], /needs --account\nusage: npm run admin -- wallet --account ID/],
      [["wallet", "--account", ""], /needs --account/],
      [["wallet", "--account"], /--account/],
      [["wallet", "--acount", "x"], /--acount/],
      [["wallet", "--account", "x", "--name", "y"], /wallet has no option --name/],
      [["wallet", "extra", "--account", "x"], /there is no command/],
      [["usage", "--account", "x", "--limit", "0"], /--limit must be a whole number/],
      [["account", "list", "--url", "localhost:8080"], /is not an address/],
      [["account", "list", "--token", "a b"], /has spaces or non-ASCII/],
    ] as const) {
      const { code, stdout, stderr } = await run(...args);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
      assert.match(stderr, message);
    }
  });

  it("exits 2 without a token and says where it comes from", async () => {
    const options = { env: { GATEWAY_URL: gateway.url }, cwd: gateway.data };
    const { code, stderr } = await runCli(["account", "list"], options);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /no admin token; set GATEWAY_ADMIN_TOKEN, or run this in the gateway's working/,
    );
  });

  it("exits 3 where no gateway answers", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await run("account", "list", "--url", url);
    assert.deepEqual([code, stdout], [3, ""]);
    assert.match(stderr, /cannot reach http.*ECONNREFUSED.*start the gateway with npm start/);
  });

  it("says what is missing from its commands if the gateway cannot be asked", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const unknown = await run("transfer", "list", "--url", url);
    assert.deepEqual([unknown.code, unknown.stdout], [3, ""]);
    assert.match(
      unknown.stderr,
      /no command "transfer list"\. Cannot read the commands of plugins .*cannot reach/,
    );
    const { code, stdout } = await run("help", "--url", url);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /wallet --account ID[\s\S]*Cannot read the commands of plugins .*cannot reach/,
    );
    assert.doesNotMatch(stdout, /transfer list/);
  });

  it("needs no gateway to say that a built-in command is written wrongly", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await run("wallet", "--acount", "x", "--url", url);
    assert.equal(code, 2);
    assert.match(stderr, /--acount[\s\S]*usage: npm run admin -- wallet --account ID/);
  });

  it("helps", async () => {
    for (const args of [["help"], ["--help"], ["wallet", "-h"]]) {
      const { code, stdout } = await run(...args);
      assert.equal(code, 0);
      assert.match(stdout, /reconcile[\s\S]*exit codes: 0 done, 1 refused/);
      // Of the plugins topup and maintenance, which the gateway says.
      assert.match(stdout, /transfer assign --transfer ID --reason TEXT \[--account ID\]/);
      assert.match(stdout, /maintenance on \[--message TEXT\] \[--reason TEXT\]/);
      assert.doesNotMatch(stdout, /Cannot read/);
    }
  });

  async function call(key: string): Promise<void> {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: '{"model":"claude-haiku-5-5","max_tokens":1,"messages":[{"role":"user","content":"x"}]}',
    });
    await response.arrayBuffer();
    assert.equal(response.status, 200);
  }
});
