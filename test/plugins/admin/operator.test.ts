import assert from "node:assert/strict";
import t from "tap";
import { arrayOf, isObject, objectOf } from "../../../core/process/json.ts";
import { admin, committedWallet, createCustomer, wallet } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { runCli } from "./cli-runs.ts";

const NOBODY = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

t.test("operators and accounts", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  const run = (...args: string[]) =>
    runCli([...args, "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });

  /** The output of a command that must succeed. */
  async function answer(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, ""], args.join(" "));
    return objectOf(JSON.parse(stdout)) ?? {};
  }

  async function list(...args: string[]): Promise<Record<string, unknown>[]> {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, ""], args.join(" "));
    return arrayOf(JSON.parse(stdout)).filter(isObject);
  }

  const call = (key: string) =>
    post(gateway, paths.messages, { key }, bodies.messages({ output_tokens: 1 }));

  t.test(
    "finds an account by part of its address, its id, its key or the id of its key",
    async (t) => {
      const { accountId, keyId, key } = await createCustomer(gateway, {
        email: "Find.Me_100@Example.com",
      });
      await createCustomer(gateway, { email: "find.mex100@example.com" });
      for (const query of ["ind.me_100", "FIND.ME_", accountId, keyId, key, key.slice(0, 8)]) {
        const found = await list("account", "find", "--query", query);
        t.strictSame(
          found.map(({ id }) => id),
          [accountId],
          query,
        );
      }
      t.strictSame(await list("account", "find", "--query", "no account has this"), []);
      t.strictSame(await list("account", "find", "--query", "tg-"), []);
      t.strictSame(await list("account", "find", "--query", NOBODY), []);
    },
  );

  t.test("lists accounts page by page", async (t) => {
    const made: string[] = [];
    for (let at = 0; at < 5; at++) made.push((await createCustomer(gateway)).accountId);
    const all = await list("account", "list");
    const ids = all.map(({ id }) => String(id));
    t.strictSame(ids.slice(-5), made);
    const pages: unknown[] = [];
    for (let after = ""; ; ) {
      const { body } = await admin(gateway, "GET", `/accounts?limit=2${after}`);
      const page = arrayOf(body["list"]).filter(isObject);
      pages.push(...page);
      if (page.length < 2) break;
      after = `&after=${page.at(-1)?.["id"]}`;
    }
    t.strictSame(pages, all);
    t.equal((await list("account", "list", "--limit", "3")).length, 3);
    t.equal((await admin(gateway, "GET", "/accounts?after=x")).status, 400);
  });

  t.test("shows an account with its wallet, keys and last calls", async (t) => {
    const { accountId, keyId, key, email } = await createCustomer(gateway, { creditVnd: 500 });
    t.equal((await call(key)).status, 200);
    await committedWallet(gateway, accountId);
    const shown = await answer("account", "show", "--account", accountId);
    t.strictSame(
      [shown["id"], shown["email"], shown["status"], shown["discount_bps"]],
      [accountId, email, "active", 0],
    );
    t.equal(objectOf(shown["wallet"])?.["held_vnd"], "0");
    const [shownKey] = arrayOf(shown["keys"]).filter(isObject);
    t.equal(shownKey?.["id"], keyId);
    t.equal(shownKey?.["prefix"], key.slice(0, 10));
    t.ok(!JSON.stringify(shown).includes(key));
    t.equal(objectOf(arrayOf(shown["last_calls"])[0])?.["key_id"], keyId);
    t.strictSame(await list("key", "list", "--account", accountId), shown["keys"]);
  });

  t.test(
    "refuses a suspended account's calls at once, and serves them again once it is resumed",
    async (t) => {
      const { accountId, key } = await createCustomer(gateway, { creditVnd: 500 });
      t.equal((await call(key)).status, 200);
      const suspend = ["--account", accountId, "--reason", "fraud"];
      t.equal((await answer("account", "suspend", ...suspend))["status"], "suspended");
      const refused = await call(key);
      t.equal(refused.status, 403);
      t.equal(refused.json.error.type, "permission_error");
      t.match(refused.json.error.message, /suspended/);
      t.equal((await answer("account", "resume", ...suspend))["status"], "active");
      t.equal((await call(key)).status, 200);
    },
  );

  t.test("applies a new discount and limit to the next call", async (t) => {
    const { accountId, keyId, key } = await createCustomer(gateway, { creditVnd: 500 });
    const full = Number((await call(key)).headers.get("x-svc-cost-vnd"));
    await answer("account", "discount", "--account", accountId, "--bps", "5000");
    t.equal(Number((await call(key)).headers.get("x-svc-cost-vnd")), full / 2);
    await answer("key", "limit", "--key", keyId, "--requests-per-minute", "1");
    t.strictSame([(await call(key)).status, (await call(key)).status], [200, 429]);
    const none = ["--key", keyId, "--requests-per-minute", "default"];
    t.equal((await answer("key", "limit", ...none))["requests_per_minute"], null);
    t.equal((await call(key)).status, 200);
  });

  t.test("sets, shows and removes limits of a key, and pauses it", async (t) => {
    const { accountId, keyId, key } = await createCustomer(gateway, { creditVnd: 500 });
    const restrict = (...limits: string[]) => answer("key", "restrict", "--key", keyId, ...limits);
    await restrict("--models", "gpt-*, claude-haiku-5-5", "--month-vnd", "1000", "--reason", "x");
    const [shown] = await list("key", "list", "--account", accountId);
    t.match(shown, {
      limits: { models: ["gpt-*", "claude-haiku-5-5"], month_vnd: "1000" },
      budgets: [{ period: "month", limit_vnd: "1000", spent_vnd: "0" }],
    });
    t.equal((await call(key)).status, 403);
    const [latest] = await list("actions", "--limit", "1");
    t.match(latest?.["details"], { models: "gpt-*, claude-haiku-5-5", month_vnd: 1000 });
    const left = await restrict("--models", "none", "--addresses", "loopback");
    t.strictSame(left["limits"], { month_vnd: "1000", addresses: ["loopback"] });
    t.equal((await call(key)).status, 200);
    t.match(await answer("key", "pause", "--key", keyId), { limits: { paused: true } });
    t.equal((await call(key)).status, 403);
    await answer("key", "resume", "--key", keyId);
    t.equal((await call(key)).status, 200);
    const made = await answer(
      ...["key", "create", "--account", accountId, "--name", "a", "--ends-at", "2999-01-01"],
    );
    t.equal((await call(String(made["key"]))).status, 200);
    const past = await run("key", "restrict", "--key", keyId, "--ends-at", "2026-01-01");
    t.match(past.stderr, /ends_at: this time is over/);
    const nothing = await run("key", "restrict", "--key", keyId);
    t.match(nothing.stderr, /Nothing to change: send at least one limit/);
    const wrong = await run("key", "restrict", "--key", keyId, "--day-vnd", "1.000");
    t.match(wrong.stderr, /--day-vnd: 1\.000 can be read as 1000 đ and as 1 đ/);
  });

  t.test("adjusts a wallet up and down, once per reference, never below zero", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const adjust = (amount: string, reference: string) =>
      run(
        ...["adjust", "--account", accountId, "--amount-vnd", amount],
        ...["--reference", reference, "--reason", "goodwill"],
      );
    for (const [amount, reference, balance] of [
      ["100", "adjust-1", "100"],
      ["100", "adjust-1", "100"],
      ["-40.5", "adjust-2", "59.5"],
      ["-40.5", "adjust-2", "59.5"],
    ] as const) {
      t.equal((await adjust(amount, reference)).code, 0);
      t.equal((await wallet(gateway, accountId)).balance, balance);
    }
    const { stderr: most } = await adjust("-60", "adjust-3");
    t.match(most, /has only 59\.5 đ available. Nothing has changed; -59\.5 takes all of it/);
    t.match((await adjust("50", "adjust-1")).stderr, /another account or amount/);
    const { code, stderr } = await run("adjust", "--account", accountId, "--amount-vnd", "1");
    t.strictSame([code, /needs --reference/.test(stderr)], [2, true]);
    t.equal((await wallet(gateway, accountId)).balance, "59.5");
    t.equal((await adjust("-59.5", "adjust-3")).code, 0);
    const { stderr: none } = await adjust("-1", "adjust-4");
    t.equal(none, "The wallet has nothing available to take. Nothing has changed.\n");
  });

  t.test("records who made every change, what, when, why, and the result", async (t) => {
    const { accountId, keyId } = await createCustomer(gateway, { creditVnd: 10 });
    const before = new Date();
    await answer("account", "suspend", "--account", accountId, "--reason", "chargeback");
    await answer("key", "limit", "--key", keyId, "--requests-per-minute", "7");
    await admin(gateway, "POST", `/accounts/${accountId}/discount`, { discount_bps: -1 });
    const actions = await list("actions", "--account", accountId);
    t.strictSame(
      actions.map(({ action, status }) => [action, status]),
      [
        ["POST /admin/v1/accounts/:account/discount", 400],
        ["POST /admin/v1/keys/:key/limit", 200],
        ["POST /admin/v1/accounts/:account/suspend", 200],
        ["POST /admin/v1/accounts/:account/credits", 200],
        ["POST /admin/v1/accounts/:account/keys", 201],
      ],
    );
    const [, , suspended] = actions;
    t.equal(suspended?.["reason"], "chargeback");
    t.match(String(suspended?.["remote_address"]), /127\.0\.0\.1|0001/);
    t.ok(new Date(String(suspended?.["at"])) >= new Date(before.getTime() - 1000));
    const { adminToken } = gateway;
    t.match(String(suspended?.["operator"]), /^[0-9a-f]{12}$/);
    t.ok(!JSON.stringify(actions).includes(adminToken));
    const [, limited] = actions;
    const details = { key: keyId, key_name: "test", requests_per_minute: 7 };
    t.strictSame(limited?.["details"], details);
    // Reads and requests without the token are not recorded.
    const count = (await list("actions")).length;
    await fetch(`${gateway.url}/admin/v1/accounts`, { method: "POST", body: "{}" });
    t.equal((await list("actions")).length, count);
  });

  t.test("records a request even if its text cannot be stored in Postgres as it is", async (t) => {
    const { status } = await admin(gateway, "POST", "/accounts", { email: "\u0000\ud800" });
    t.equal(status, 400);
    const [newest] = await list("actions", "--limit", "1");
    t.strictSame(newest?.["details"], { email: "\u0000\ud800" });
  });

  t.test("explains unknown ids and wrong values", async (t) => {
    for (const [args, message] of [
      [["account", "show", "--account", NOBODY], /There is no account/],
      [["account", "suspend", "--account", "x", "--reason", "r"], /There is no account x/],
      [["account", "discount", "--account", NOBODY, "--bps", "100"], /There is no account/],
      [
        ["account", "discount", "--account", NOBODY, "--bps", "1%"],
        /discount_bps: expected a whole/,
      ],
      [["key", "list", "--account", NOBODY], /There is no account/],
      [["key", "limit", "--key", NOBODY, "--requests-per-minute", "5"], /There is no such key/],
      [
        ["key", "limit", "--key", NOBODY, "--requests-per-minute", "many"],
        /or null for the default/,
      ],
    ] as const) {
      const { code, stderr } = await run(...args);
      t.equal(code, 1, args.join(" "));
      t.match(stderr, message);
    }
  });
});
