import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { formatVnd, MICRO_VND_PER_VND, parseVnd } from "../../../core/catalogue/amount.ts";
import { codeAt } from "../../../plugins/sign-in-parts/totp.ts";
import { type AccountsGateway, startAccountsGateway } from "../../support/accounts.ts";
import { admin, committedWallet, credit } from "../../support/admin.ts";
import { BrowserSession, PASSWORD, signedUp } from "../../support/browser-session.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { anonymous, createOperator, OPERATOR_PASSWORD, totpCode } from "../../support/operators.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";

t.test("keys", async (t) => {
  let all: AccountsGateway;
  let gateway: TestGateway;
  t.before(async () => {
    all = await startAccountsGateway();
    ({ gateway } = all);
  });
  t.teardown(() => all.close());

  const customer = () => signedUp(gateway, all.mailServer);

  async function listed(session: BrowserSession): Promise<KeyInList[]> {
    return (await session.get("/keys")).body.data;
  }

  t.test("are created with a name, and listed without their text", async (t) => {
    const session = await customer();
    const { status, body } = await session.post("/keys", { name: " máy tính " });
    t.equal(status, 201);
    t.match(body.key, /^tg-[\w-]{48}$/);
    t.strictSame([body.name, body.prefix], ["máy tính", body.key.slice(0, 10)]);
    const list = await session.get("/keys");
    const [key] = list.body.data;
    t.strictSame(
      { ...key, created_at: null },
      {
        id: body.id,
        name: "máy tính",
        prefix: body.prefix,
        status: "active",
        created_at: null,
        revoked_at: null,
        last_used_at: null,
        cost_vnd: "0",
        recoverable: true,
        limits: {},
        budgets: [],
        member: null,
      },
    );
    t.ok(!list.text.includes(body.key));
    for (const name of ["", " ", "x".repeat(101), "two\nlines", 5, undefined]) {
      const answer = await session.post("/keys", { name });
      t.strictSame([answer.status, answer.body.error.param], [400, "name"]);
    }
  });

  t.test("are shown again to their owner", async (t) => {
    const session = await customer();
    const { body } = await session.post("/keys", { name: "one" });
    const revealed = await session.post(`/keys/${body.id}/reveal`);
    t.strictSame([revealed.status, revealed.body], [200, { key: body.key }]);
    t.equal(revealed.headers.get("cache-control"), "no-store");
    for (const id of ["x", "'", "00000000-0000-0000-0000-000000000000"]) {
      t.equal((await session.post(`/keys/${id}/reveal`)).status, 404);
      t.equal((await session.post(`/keys/${id}/revoke`)).status, 404);
    }
  });

  t.test("created by an operator can be revealed by the account's owner too", async (t) => {
    const session = await customer();
    const path = `/accounts/${session.accountId}/keys`;
    const { body } = await admin(gateway, "POST", path, { name: "by the operator" });
    const revealed = await session.post(`/keys/${body["id"]}/reveal`);
    t.equal(revealed.body.key, body["key"]);
  });

  t.test(
    "are mailed to their owner when they are made, and once when a browser shows them",
    async (t) => {
      const session = await customer();
      const { body } = await session.post("/keys", { name: "máy tính" });
      await session.post(`/keys/${body.id}/reveal`);
      await session.post(`/keys/${body.id}/reveal`);
      const other = new BrowserSession(gateway);
      other.headers = { "x-forwarded-for": "10.9.8.7", "user-agent": "Browser/9" };
      await other.signIn(session.email);
      await other.post(`/keys/${body.id}/reveal`);
      const mails = await all.mailServer.mailsTo(session.email, 5);
      const known = `máy tính (${body.prefix}…)`;
      const told = mails.map(({ subject, text }) => [
        subject?.replace(/^.* \/ /, ""),
        text?.split("\n").find((line) => line === known || line.includes("Browser/9")),
      ]);
      // Two mails are sent at a time, so the order may differ.
      t.strictSame(told.sort(), [
        ["An API key was shown", known],
        ["An API key was shown", known],
        ["New API key", known],
        ["Sign-in from a new browser", "10.9.8.7, Browser/9"],
        ["Verify your email address", undefined],
      ]);
      t.ok(mails.every(({ text }) => !text?.includes(body.key)));
      // A browser that the account knows is no news.
      await other.signIn(session.email);
      await other.post("/password/change", { current: PASSWORD, password: `${PASSWORD} 2` });
      const after = await all.mailServer.mailsTo(session.email, 6);
      t.match(after[5]?.subject, /password was changed/);
    },
  );

  t.test("without stored text, or with altered text, cannot be recovered", async (t) => {
    const session = await customer();
    const other = await customer();
    const [old, moved, kept] = [
      (await session.post("/keys", { name: "old" })).body,
      (await session.post("/keys", { name: "moved" })).body,
      (await session.post("/keys", { name: "kept" })).body,
    ];
    const foreign = (await other.post("/keys", { name: "of another" })).body;
    await ledgerSql(
      gateway,
      `update api_keys set sealed = null, sealed_by = null where id = '${old.id}';
      update api_keys key set sealed = from_other.sealed
      from api_keys from_other where key.id = '${moved.id}' and from_other.id = '${foreign.id}'`,
    );
    for (const { id } of [old, moved]) {
      const answer = await session.post(`/keys/${id}/reveal`);
      t.strictSame([answer.status, answer.code], [409, "key_not_recoverable"]);
    }
    t.equal((await session.post(`/keys/${kept.id}/reveal`)).body.key, kept.key);
    const recoverable = (await listed(session)).map((key) => [key.name, key.recoverable]);
    t.strictSame(Object.fromEntries(recoverable), { old: false, moved: true, kept: true });
    // They still authenticate calls.
    const headers = { "x-api-key": old.key };
    t.equal((await fetch(`${gateway.url}/v1/models`, { headers })).status, 200);
  });

  t.test(
    "are limited to ten, also for eleven requests at once; a revoked key makes room",
    async (t) => {
      const session = await customer();
      const answers = await Promise.all(
        Array.from({ length: 11 }, (_, n) => session.post("/keys", { name: `key ${n}` })),
      );
      t.equal(answers.filter(({ status }) => status === 201).length, 10);
      const refused = answers.filter(({ code }) => code === "too_many_keys");
      t.strictSame(
        refused.map(({ status }) => status),
        [409],
      );
      const made = answers.find(({ status }) => status === 201)?.body;
      t.strictSame((await session.post(`/keys/${made.id}/revoke`)).body, {
        id: made.id,
        status: "revoked",
      });
      t.equal((await session.post("/keys", { name: "in its place" })).status, 201);
      t.equal((await session.post("/keys", { name: "one more" })).code, "too_many_keys");
      t.equal((await session.get("/keys")).body.active_keys_max, 10);
      const list = await listed(session);
      t.strictSame(
        list.map(({ status }) => status),
        [...Array.from({ length: 10 }, () => "active"), "revoked"],
      );
      t.ok(list.at(-1)?.revoked_at);
    },
  );

  t.test("are refused as soon as they are revoked", async (t) => {
    const session = await customer();
    const { body } = await session.post("/keys", { name: "leaked" });
    const headers = { authorization: `Bearer ${body.key}` };
    t.equal((await fetch(`${gateway.url}/v1/models`, { headers })).status, 200);
    t.equal((await session.post(`/keys/${body.id}/revoke`)).status, 200);
    t.equal((await fetch(`${gateway.url}/v1/models`, { headers })).status, 401);
    // Revoking a key twice is no error.
    t.equal((await session.post(`/keys/${body.id}/revoke`)).status, 200);
  });

  t.test("take limits from their owner, at once and later", async (t) => {
    const [session, stranger] = [await customer(), await customer()];
    const limits = { models: ["gpt-*"] };
    const { body } = await session.post("/keys", { name: "of a developer", limits });
    const shown = async () => {
      const headers = { authorization: `Bearer ${body.key}` };
      const { status } = await fetch(`${gateway.url}/v1/models`, { headers });
      return [status, (await listed(session))[0]?.limits];
    };
    t.strictSame(await shown(), [200, limits]);
    const path = `/keys/${body.id}/limits`;
    const { status, body: paused } = await session.post(path, { paused: true });
    t.strictSame(
      [status, paused],
      [200, { id: body.id, limits: { ...limits, paused: true }, budgets: [] }],
    );
    t.strictSame(await shown(), [403, { ...limits, paused: true }]);
    t.equal((await session.post(path, { paused: false, models: null })).status, 200);
    t.strictSame(await shown(), [200, {}]);
    t.equal((await session.post(path, { models: ["no-such-model"] })).code, "unknown_model");
    const nothing = await session.post(path, {});
    t.equal(nothing.status, 400);
    t.equal(nothing.body.error.message, "Nothing to change: send at least one limit.");
    t.equal((await stranger.post(path, { paused: true })).status, 404);
    await session.post(`/keys/${body.id}/revoke`);
    t.equal((await session.post(path, { paused: true })).status, 404);
  });

  t.test("list their cost and their last use", async (t) => {
    const session = await customer();
    await credit(gateway, session.accountId, 10_000);
    const [used, unused] = [
      (await session.post("/keys", { name: "used" })).body,
      (await session.post("/keys", { name: "unused" })).body,
    ];
    const beforeMs = Date.now();
    for (let n = 0; n < 3; n++) {
      t.equal((await post(gateway, paths.chat, used, bodies.chat())).status, 200);
    }
    const { balance } = await committedWallet(gateway, session.accountId);
    const keys = await listed(session);
    const [a, b] = [used, unused].map(({ id }) => keys.find((key) => key.id === id));
    const cost = parseVnd(a?.cost_vnd ?? "") ?? 0n;
    t.ok(cost > 0n);
    t.equal(formatVnd(10_000n * BigInt(MICRO_VND_PER_VND) - cost), balance);
    const usedMs = new Date(a?.last_used_at ?? 0).getTime();
    t.ok(usedMs >= beforeMs && usedMs <= Date.now());
    t.strictSame([b?.cost_vnd, b?.last_used_at], ["0", null]);
  });
});

t.test("the master key", async (t) => {
  t.test(
    "is a file in the data folder, readable by its owner only, unless the options name one",
    async (t) => {
      const { gateway, mailServer, close } = await startAccountsGateway({ ledger: "embedded" });
      try {
        const file = join(gateway.data, "master-key");
        t.equal(statSync(file).mode & 0o777, 0o600);
        const key = readFileSync(file, "utf8");
        t.equal(Buffer.from(key, "base64").length, 32);
        const session = await signedUp(gateway, mailServer);
        const { body } = await session.post("/keys", { name: "before" });
        await gateway.stop();
        await gateway.start();
        t.equal(readFileSync(file, "utf8"), key);
        t.equal((await session.post(`/keys/${body.id}/reveal`)).body.key, body.key);
        await gateway.stop();
        writeFileSync(file, randomBytes(32).toString("base64"));
        await t.rejects(gateway.start(), /the file master-key in the data folder is another key/);
        rmSync(file);
        await gateway.start();
        await until("the operator can see why", () =>
          gateway.logs.includes("the file master-key is gone"),
        );
        t.equal((await session.post(`/keys/${body.id}/reveal`)).code, "key_not_recoverable");
        await gateway.stop();
        await gateway.start();
      } finally {
        await close();
      }
    },
  );

  t.test(
    "can be rotated: keys and second factors of the old one are sealed again with the new one",
    async (t) => {
      const key = () => randomBytes(32).toString("base64");
      const env = { MASTER_ONE: key(), MASTER_TWO: key() };
      const [one, two] = [
        { id: "one", key: `\${MASTER_ONE}` },
        { id: "two", key: `\${MASTER_TWO}` },
      ];
      const { gateway, mailServer, restart, close } = await startAccountsGateway(
        { env },
        { master_keys: [one] },
      );
      try {
        const session = await signedUp(gateway, mailServer);
        const { body } = await session.post("/keys", { name: "sealed by the first" });
        const { secret } = (await session.post("/second-factor", { current: PASSWORD })).body;
        const codeOf = (aside: number) => codeAt(secret, Math.floor(Date.now() / 30_000) + aside);
        await session.post("/second-factor/confirm", { code: codeOf(0) });
        const operator = await createOperator(gateway, "owner");
        const reveal = async () => {
          const answer = await session.post(`/keys/${body.id}/reveal`);
          return answer.code ?? answer.body.key;
        };
        await restart({ master_keys: [two, one] });
        t.equal(await reveal(), body.key);
        const deadline = performance.now() + 30_000;
        // Keys are sealed first.
        while (!gateway.logs.includes("sealed second factors with the newest")) {
          t.ok(performance.now() < deadline, gateway.logs);
          await delay(20);
        }
        t.match(gateway.logs, "sealed keys with the newest");
        const ofOperators = "sealed second factors of operators with the newest";
        await until("those of operators too", () => gateway.logs.includes(ofOperators));
        await restart({ master_keys: [two] });
        t.equal(await reveal(), body.key);
        const { email } = operator;
        const credentials = { email, password: OPERATOR_PASSWORD, code: totpCode(operator.secret) };
        t.equal((await anonymous(gateway, "/sign-in", credentials)).status, 200);
        const wrong = { id: "two", key: `\${MASTER_ONE}` };
        await t.rejects(restart({ master_keys: [wrong] }), /master_keys: "two" is another key/);
        await restart({ master_keys: [two] });
        t.equal(await reveal(), body.key, "a start that was refused has changed nothing");
        const proof = { current: PASSWORD, code: codeOf(1) };
        t.equal((await session.post("/second-factor/recovery-codes", proof)).status, 200);
        // The operator has lost the key.
        await ledgerSql(gateway, "delete from account_master_keys where id = 'two'");
        await restart({ master_keys: [one] });
        t.equal(await reveal(), "key_not_recoverable");
        const lost = await session.post("/second-factor/off", proof);
        t.equal(lost.code, "wrong_code");
        await until("the operator can see why", () =>
          gateway.logs.includes("cannot unseal a second factor"),
        );
        for (const secret of Object.values(env)) t.ok(!gateway.logs.includes(secret));
      } finally {
        await close();
      }
    },
  );
});

interface KeyInList {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly cost_vnd: string;
  readonly recoverable: boolean;
  readonly limits: object;
}
