import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { isObject } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { committedWallet, createCustomer } from "../../support/admin.ts";
import { freePort } from "../../support/free-port.ts";
import { startGateway } from "../../support/gateway.ts";
import { runCli, runCliProcess } from "./cli-runs.ts";

const NOBODY = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

t.test("npm run admin", async (t) => {
  const gateway = await startGateway({ config: { admin: undefined } });
  t.teardown(() => gateway.close());

  /** Runs a command in the gateway's folder, so that it finds the token. */
  const run = (...args: string[]) => runCli(args, inFolder());
  const inFolder = () => ({ env: { GATEWAY_URL: gateway.url }, cwd: gateway.folder });

  t.test(
    "ends its process with the code of the command, and prints messages on stderr alone",
    async (t) => {
      const nowhere = `http://127.0.0.1:${await freePort()}`;
      for (const [args, code, message] of [
        [["account", "list", "--url", nowhere], 3, /cannot reach http/],
        [["wallet"], 2, /needs --account/],
        [["wallet", "--account", NOBODY], 1, /There is no account/],
      ] as const) {
        const { stdout, stderr, ...ended } = await runCliProcess(args, inFolder());
        t.strictSame([ended.code, stdout], [code, ""], args.join(" "));
        t.match(stderr, message);
      }
      const { code, stdout, stderr } = await runCliProcess(["account", "list"], inFolder());
      t.strictSame([code, stderr], [0, ""]);
      t.ok(Array.isArray(JSON.parse(stdout)));
    },
  );

  /** The output of a command that must succeed, on one line. */
  async function answer(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await run(...args, "--json");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^[{[].*[}\]]\n$/);
    const value: unknown = JSON.parse(stdout);
    return isObject(value) ? value : { list: value };
  }

  t.test("creates an account, a key and a credit, and prints the fields of the API", async (t) => {
    const account = await answer("account", "create", "--email", "cli@example.com");
    t.strictSame(Object.keys(account).sort(), ["email", "id"]);
    const id = String(account["id"]);
    const key = await answer("key", "create", "--account", id, "--name", "laptop");
    t.strictSame(Object.keys(key).sort(), ["id", "key"]);
    const credit = ["credit", "--account", id, "--reference", "cli-1", "--amount-vnd"];
    t.equal((await answer(...credit, "50000"))["balance_vnd"], "50000");
    t.equal((await answer(...credit, "50000"))["balance_vnd"], "50000");
    const less = ["credit", "--account", id, "--reference", "cli-2", "--amount-vnd", "-0.5"];
    t.equal((await answer(...less, "--reason", "fee"))["balance_vnd"], "49999.5");
    t.strictSame(await answer("wallet", "--account", id), {
      balance_vnd: "49999.5",
      held_vnd: "0",
      available_vnd: "49999.5",
      pending_vnd: "0",
    });
    t.strictSame(await answer("usage", "--account", id), { list: [] });
    const revoked = await answer("key", "revoke", "--key", String(key["id"]));
    t.equal(revoked["status"], "revoked");
    const { list } = await answer("account", "list");
    t.ok(Array.isArray(list) && list.some((one) => one.id === id));
  });

  t.test(
    "prints the same JSON on several lines without --json, and a table with --wide",
    async (t) => {
      const { accountId } = await createCustomer(gateway, { creditVnd: 7 });
      for (const command of [
        ["wallet", "--account", accountId],
        ["account", "list"],
      ]) {
        const long = await run(...command);
        const short = await run(...command, "--json");
        t.ok(long.stdout.split("\n").length > 4);
        t.strictSame(JSON.parse(long.stdout), JSON.parse(short.stdout));
      }
      const none = await run("usage", "--account", accountId);
      t.equal(none.stdout, "[]\n");
      const table = await run("account", "list", "--wide");
      t.match(table.stdout, /^email .* id\n[^ ]+@[^ ]+ .*[0-9a-f-]{36}\n/);
      const asked = await run("account", "list", "--wide", "--json");
      t.equal(asked.stdout, (await run("account", "list", "--json")).stdout);
    },
  );

  t.test("prints all usage, beyond one page of the API, or as much as --limit", async (t) => {
    const { accountId, key } = await createCustomer(gateway, { creditVnd: 1000 });
    const calls = 1003;
    for (let sent = 0; sent < calls; sent += 59) {
      await Promise.all(Array.from({ length: Math.min(59, calls - sent) }, () => call(key)));
    }
    await committedWallet(gateway, accountId);
    const { list: all } = await answer("usage", "--account", accountId);
    assert.ok(Array.isArray(all));
    t.strictSame([all.length, new Set(all.map((one) => one.call_id)).size], [calls, calls]);
    const limited = ["usage", "--account", accountId, "--limit", "1001"];
    const long = await runCliProcess(limited, inFolder());
    t.equal(JSON.parse(long.stdout).length, 1001);
    const { list } = await answer("usage", "--account", accountId, "--limit", "2");
    t.ok(Array.isArray(list) && list.length === 2);
  });

  t.test(
    "exits 1 if the gateway refuses, with the gateway's message on stderr alone",
    async (t) => {
      for (const [args, message] of [
        [["wallet", "--account", NOBODY], /There is no account 01a1f8dd/],
        [["account", "create", "--email", "no address"], /email: expected an e-mail address/],
        [["key", "revoke", "--key", NOBODY], /There is no such key/],
        [["account", "list", "--token", "x".repeat(20)], /Set GATEWAY_ADMIN_TOKEN or --token/],
        [["account", "list", "--url", gateway.simulator.url], /has no admin API.*--url/],
      ] as const) {
        const { code, stdout, stderr } = await run(...args);
        t.strictSame([code, stdout], [1, ""], args.join(" "));
        t.match(stderr, message);
      }
    },
  );

  t.test("exits 2 on a wrong command line and prints the usage", async (t) => {
    for (const [args, message] of [
      [[], /npm run admin -- COMMAND/],
      [["acount", "list"], /there is no command "acount list"; did you mean "account list"\?/],
      [
        ["transfers", "list"],
        /there is no command "transfers list"; did you mean "transfer list"\?/,
      ],
      [["account"], /"account" needs another word: account create, account list, /],
      [["nothing-like-it"], /there is no command "nothing-like-it"\nnpm run admin -- help lists/],
      [["acount", "list", "--help"], /there is no command "acount list"; did you mean/],
      [["wallet"], /needs --account\nusage: npm run admin -- wallet --account ID\|EMAIL/],
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
      t.strictSame([code, stdout], [2, ""], args.join(" "));
      t.match(stderr, message);
    }
  });

  t.test("refuses what npm has kept for want of a --, instead of another command", async (t) => {
    const { env, cwd } = inFolder();
    /** As npm runs it for `npm run admin WORDS --OPTION`. */
    const byNpm = (words: string, kept: Record<string, string>) =>
      runCli(words.split(" "), { cwd, env: { ...env, npm_lifecycle_event: "admin", ...kept } });
    for (const [words, kept, line] of [
      ["reload", { npm_config_check: "true" }, "reload --check"],
      ["reconcile", { npm_config_full: "true" }, "reconcile --full"],
      ["wallet x", { npm_config_account: "true" }, "COMMAND --account"],
      ["account list", { npm_config_limit: "3" }, "account list --limit=3"],
      ["holds list", { npm_config_token: "a-secret" }, "holds list --token"],
      ["transfer import", { npm_config_file: "a.csv" }, "transfer import --file=a.csv"],
      ["transfer import", { npm_config_file: "it's.csv" }, "transfer import --file='it'\\''s.csv'"],
      [
        "account import",
        { npm_config_file: "a b.csv", npm_config_mail: "", npm_config_dry_run: "true" },
        "account import --file='a b.csv' --dry-run --no-mail",
      ],
      ["account import", { npm_config_dry_run: "true" }, "account import --dry-run"],
      [
        "account import",
        { npm_config_mail: "", npm_config_yes: "true" },
        "account import --no-mail",
      ],
    ] as const) {
      const { code, stdout, stderr } = await byNpm(words, kept);
      t.strictSame([code, stdout], [2, ""], words);
      t.match(stderr, `for itself; write: npm run admin -- ${line}\n`);
    }
    // An .npmrc may have them: options of npm's own, or of another program's.
    for (const kept of [{ npm_config_json: "true" }, { npm_config_email: "a@b.c" }]) {
      t.equal((await byNpm("account list", kept)).code, 0);
    }
    t.equal((await byNpm("account list", { npm_config_check: "true" })).code, 0);
    const other = { npm_lifecycle_event: "test", npm_config_limit: "3" };
    t.equal((await byNpm("account list", other)).code, 0);
  });

  t.test("exits 2 without a token and says where to find it", async (t) => {
    const options = { env: { GATEWAY_URL: gateway.url }, cwd: gateway.data };
    const { code, stderr } = await runCli(["account", "list"], options);
    t.equal(code, 2);
    t.match(
      stderr,
      /no admin token; set GATEWAY_ADMIN_TOKEN to what the file admin-token in .* has/,
    );
  });

  t.test("exits 3 if no gateway replies", async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await run("account", "list", "--url", url);
    t.strictSame([code, stdout], [3, ""]);
    t.match(stderr, /cannot reach http.*ECONNREFUSED.*start the gateway with npm start/);
  });

  t.test("waits for long commands, unlike fetch", async (t) => {
    const before = getGlobalDispatcher();
    setGlobalDispatcher(new Agent({ headersTimeout: 1 }));
    t.teardown(() => setGlobalDispatcher(before));
    const server = createServer((request, response) => {
      setTimeout(() => response.end(JSON.stringify({ asked: request.url })), 2_500);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { stdout } = await run(
      "wallet",
      "--account",
      NOBODY,
      "--url",
      `http://127.0.0.1:${port}/below/`,
    );
    t.match(stdout, /"asked": "\/below\/admin\/v1\/accounts\//);
  });

  t.test("warns that plugin commands are missing if the gateway is unreachable", async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const unknown = await run("transfer", "list", "--url", url);
    t.strictSame([unknown.code, unknown.stdout], [3, ""]);
    t.match(
      unknown.stderr,
      /no command "transfer list"\. Cannot read the commands of plugins .*cannot reach/,
    );
    const bare = await run("--url", url);
    t.equal(bare.code, 2);
    t.match(bare.stderr, /wallet +show the balance[\s\S]*Cannot read .*cannot reach/);
    const { code, stdout } = await run("help", "--url", url);
    t.equal(code, 0);
    t.match(
      stdout,
      /wallet +show the balance[\s\S]*Cannot read the commands of plugins .*cannot reach/,
    );
    t.notMatch(stdout, /transfer list/);
  });

  t.test("reports a wrong built-in command line without a gateway", async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await run("wallet", "--acount", "x", "--url", url);
    t.equal(code, 2);
    t.match(stderr, /--acount[\s\S]*usage: npm run admin -- wallet --account ID\|EMAIL/);
  });

  t.test("prints help", async (t) => {
    for (const args of [["help"], ["--help"]]) {
      const { code, stdout } = await run(...args);
      t.equal(code, 0);
      t.match(stdout, /reconcile[\s\S]*exit codes: 0 done, 1 refused/);
      // The commands of topup and maintenance, which come from the gateway.
      t.match(
        stdout,
        /^transfers: bank transfers\n {2}transfer list +list bank transfers, newest first$/m,
      );
      t.match(stdout, /^ {2}maintenance on +refuse new calls with 503/m);
      t.notMatch(stdout, /Cannot read|others: of plugins/);
      t.strictSame(
        stdout.split("\n").filter((line) => line.length > 110),
        [],
      );
    }
  });

  t.test("prints the help of one command, also of a plugin's", async (t) => {
    for (const args of [
      ["wallet", "--help"],
      ["help", "wallet"],
    ]) {
      const { code, stdout } = await run(...args);
      t.equal(code, 0);
      t.equal(
        stdout,
        [
          "usage: npm run admin -- wallet --account ID|EMAIL",
          "show the balance of an account and its parts",
          "  --account ID|EMAIL  required; the account, by its id or email address",
          "example: npm run admin -- wallet --account you@example.com\n",
        ].join("\n\n"),
      );
    }
    const { code, stdout } = await run("transfer", "assign", "--help");
    t.equal(code, 0);
    t.match(stdout, /^usage: npm run admin -- transfer assign --transfer ID --reason TEXT/);
    t.match(stdout, /^ {2}--transfer ID +required; the id of a transfer, from transfer list$/m);
    t.match(stdout, /example: .* --transfer 17 --reason "as agreed" --account you@example\.com/);
  });

  t.test("prints the help of the commands that begin with a word, and its version", async (t) => {
    for (const args of [
      ["help", "account"],
      ["account", "--help"],
    ]) {
      const { code, stdout } = await run(...args);
      t.equal(code, 0);
      t.match(
        stdout,
        /^account create --email ADDRESS[\s\S]*^account list \[--having balance\|budgets\] \[--limit N\]/m,
      );
      t.notMatch(stdout, /reconcile/);
    }
    for (const words of ["maintenance", "prices"]) {
      const { stdout } = await run(words, "--help");
      t.match(stdout, new RegExp(`^usage: npm run admin -- ${words}\\b`));
      t.match((await run("help", words)).stdout, new RegExp(`^${words}\\b(?: .*)?\n {6}`, "m"));
    }
    t.match((await run("help", "maintenance")).stdout, /^maintenance on /m);
    t.match((await run("help", "prices")).stdout, /^models/m);
    const { stdout } = await run("help", "money");
    t.match(
      stdout,
      /^refund --reason TEXT[\s\S]*example: npm run admin -- refund .*--call [0-9a-f-]{36}/m,
    );
    t.match(stdout, /^credit[\s\S]*^wallet/m);
    t.notMatch(stdout, /transfer assign/);
    t.match(await run("--version"), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ });
  });

  t.test("prints help as JSON for programs", async (t) => {
    const named = async (...args: string[]) => {
      const { code, stdout } = await run(...args, "--json");
      t.equal(code, 0);
      const { commands } = JSON.parse(stdout);
      return Array.isArray(commands) ? commands : [];
    };
    const [wallet, ...others] = await named("help", "wallet");
    const about = "show the balance of an account and its parts";
    const options = { required: ["account"], optional: [], flags: [] };
    t.strictSame([wallet, others], [{ words: "wallet", ...options, about }, []]);
    const all = (await named("help")).map(({ words }) => words);
    for (const words of ["reconcile", "transfer assign"]) t.ok(all.includes(words), words);
    const group = (await named("help", "account")).map(({ words }) => words);
    t.ok(group.includes("account create") && !group.includes("wallet"));
  });

  t.test("takes an email address wherever it takes an account", async (t) => {
    const account = await answer("account", "create", "--email", "one@example.com");
    await answer("account", "create", "--email", "another-one@example.com");
    const at = ["--account", "One@Example.com"];
    const movement = ["--amount-vnd", "5000", "--reference", "by-mail"];
    t.equal((await answer("credit", ...at, ...movement))["balance_vnd"], "5000");
    t.equal((await answer("wallet", ...at))["balance_vnd"], "5000");
    t.equal((await answer("account", "show", ...at))["id"], account["id"]);
    const { code, stderr } = await run("wallet", "--account", "e@example.com");
    t.strictSame([code, stderr], [1, "no account has the email address e@example.com\n"]);
  });

  t.test("refuses an amount with separators, and names both readings", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 7 });
    const credit = ["credit", "--account", accountId, "--reference", "dots", "--amount-vnd"];
    for (const [amount, message] of [
      ["100.000", "100.000 can be read as 100000 đ and as 100 đ; write 100000, or 100"],
      ["1,500", "1,500 can be read as 1500 đ and as 1.5 đ; write 1500, or 1.5"],
      ["-2.000.000", "write -2000000, without separators"],
    ] as const) {
      const { code, stderr } = await run(...credit, amount);
      t.equal(code, 2);
      t.match(stderr, message);
    }
    t.equal((await answer("wallet", "--account", accountId))["balance_vnd"], "7");
  });

  t.test(
    "asks before it moves more than 5,000,000 đ, and needs --yes without a terminal",
    async (t) => {
      const { accountId, email } = await createCustomer(gateway);
      const account = ["--account", accountId];
      const balance = async () => (await answer("wallet", ...account))["balance_vnd"];
      const credit = (amount: string) => [
        "credit",
        ...account,
        "--reference",
        "big",
        "--amount-vnd",
        amount,
      ];
      const refused = await run(...credit("6000000.5"));
      const question = `Credit 6,000,000.5 đ to ${email}, whose balance is 0 đ?`;
      t.strictSame(refused, {
        code: 2,
        stdout: "",
        stderr: `${question} Nothing has changed; to confirm it, add --yes.\n`,
      });
      const asked: string[] = [];
      const replying = (reply: string, ...args: string[]) => {
        const ask = async (text: string) => {
          asked.push(text);
          return reply;
        };
        return runCli([...args, "--json"], { ...inFolder(), ask });
      };
      const declined = await replying("", ...credit("6000000.5"));
      t.strictSame(
        [declined.code, declined.stderr, await balance()],
        [1, "Nothing has changed.\n", "0"],
      );
      t.equal((await replying("y", ...credit("6000000.5"))).code, 0);
      t.strictSame(asked.splice(0), [`${question} [y/N] `, `${question} [y/N] `]);
      t.equal(await balance(), "6000000.5");
      const less = [
        "adjust",
        ...account,
        "--reason",
        "x",
        "--reference",
        "less",
        "--amount-vnd",
        "-5000001",
      ];
      const back = ["refund", "--top-up", "big", "--reason", "x"];
      for (const args of [less, back]) {
        const { code, stderr } = await run(...args);
        t.equal(code, 2);
        t.match(stderr, /^Take (?:5,000,001|6,000,000\.5) đ from .* is 6,000,000\.5 đ\? Nothing/);
      }
      t.equal((await answer(...back, "--amount-vnd", "5000000"))["amount_vnd"], "5000000");
      const more = ["--amount-vnd", "5000000", "--reference", "small"];
      t.equal((await answer("credit", ...account, ...more))["balance_vnd"], "6000000.5");
      t.equal((await answer(...less, "--yes"))["balance_vnd"], "999999.5");
      t.equal((await replying("n", "wallet", ...account)).code, 0);
      t.strictSame(asked, []);
    },
  );

  t.test("fits its tables to a terminal, and asks there", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 7 });
    const table = await onTerminal("account", "list");
    const lines = table.split("\r\n");
    t.ok(lines.length > 3 && lines.every((line) => line.length <= 60), table);
    t.match(table, /^email +status .* id\r\n.*…[0-9a-f]{8}\r\n[\s\S]*--wide shows all/);
    const credit = [
      "credit",
      "--account",
      accountId,
      "--reference",
      "tty",
      "--amount-vnd",
      "6000000",
    ];
    t.match(
      await onTerminal(...credit),
      /whose balance is 7 đ\? \[y\/N\] [\s\S]*balance_vnd {2}6000007/,
    );
  });

  /** Runs a command on a terminal of 60 columns, types y, and returns what it shows. */
  function onTerminal(...args: string[]): Promise<string> {
    const program = join(packageRoot, "dist", "plugins", "admin", "cli.js");
    const words = [process.execPath, program, ...args].map((word) => `'${word}'`).join(" ");
    const { env, cwd } = inFolder();
    return new Promise((resolve, reject) => {
      const child = execFile(
        "script",
        ["-qec", `stty cols 60; ${words}`, "/dev/null"],
        { cwd, env: { ...process.env, GATEWAY_ADMIN_TOKEN: "", ...env } },
        (error, stdout) => (error ? reject(error) : resolve(stdout)),
      );
      child.stdout?.on("data", (text: string) => {
        if (text.includes("[y/N]")) child.stdin?.write("y\n");
      });
    });
  }

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
