import t from "tap";
import * as v from "valibot";
import { newId } from "../../../core/process/id.ts";
import { CredentialStore } from "../../../plugins/accounts/credentials.ts";
import { options } from "../../../plugins/accounts/options.ts";
import { Sessions } from "../../../plugins/accounts/sessions.ts";
import { codeAt } from "../../../plugins/sign-in-parts/totp.ts";
import { credit } from "../../support/admin.ts";
import {
  BrowserSession,
  newEmail,
  ownAddress,
  PASSWORD,
  signedUp,
} from "../../support/browser-session.ts";
import { tokenIn } from "../../support/mail-server.ts";
import { bootInProcess } from "./in-process.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

t.test("expiry", async (t) => {
  const world = await bootInProcess();
  t.teardown(() => world.close());

  function visitor(): BrowserSession {
    const session = new BrowserSession(world);
    session.headers = { "x-forwarded-for": ownAddress() };
    return session;
  }

  t.test("a session lasts 30 days while it is used, and a week if it is not", async (t) => {
    const used = await signedUp(world, world.mailServer);
    const unused = visitor();
    await unused.signIn(used.email);
    const status = async (session: BrowserSession) => (await session.get("/me")).status;
    for (let day = 6; day < 30; day += 6) {
      world.pass(6 * DAY_MS);
      t.equal(await status(used), 200, `day ${day}`);
    }
    t.equal(await status(unused), 401);
    t.equal((await used.get("/sessions")).body.data.length, 1);
    world.pass(6 * DAY_MS - MINUTE_MS);
    t.equal(await status(used), 200);
    world.pass(MINUTE_MS);
    t.equal(await status(used), 401);
  });

  t.test("the last use is stored at most once a minute", async (t) => {
    const session = await signedUp(world, world.mailServer);
    const seen = async () => {
      const [one] = (await session.get("/sessions")).body.data;
      return Date.parse(one.last_seen_at) - Date.parse(one.created_at);
    };
    world.pass(MINUTE_MS / 2);
    await session.get("/me");
    t.equal(await seen(), 0);
    world.pass(MINUTE_MS);
    await session.get("/me");
    t.ok((await seen()) >= 1.5 * MINUTE_MS);
  });

  t.test("a link to set a password expires after an hour", async (t) => {
    const { email } = await signedUp(world, world.mailServer);
    const tokens: string[] = [];
    for (const count of [1, 2]) {
      await visitor().post("/password/forgot", { email });
      tokens.push(tokenIn(await world.mailServer.mailTo(email, /reset#token=/, count)));
    }
    const reset = async (token = "") =>
      (await visitor().post("/password/reset", { token, password: PASSWORD })).status;
    world.pass(HOUR_MS - MINUTE_MS);
    t.equal(await reset(tokens[0]), 200);
    await visitor().post("/password/forgot", { email });
    const late = tokenIn(await world.mailServer.mailTo(email, /reset#token=/, 3));
    world.pass(HOUR_MS);
    t.equal(await reset(late), 400);
  });

  t.test("a link to verify an address expires after 48 hours", async (t) => {
    for (const [afterMs, status] of [
      [48 * HOUR_MS - MINUTE_MS, 200],
      [48 * HOUR_MS, 400],
    ] as const) {
      const email = newEmail();
      await visitor().post("/sign-up", { email, password: PASSWORD });
      const token = tokenIn((await world.mailServer.mailsTo(email))[0]);
      world.pass(afterMs);
      t.equal((await visitor().post("/verify", { token, password: PASSWORD })).status, status);
    }
  });

  t.test("an attempt is allowed again after a minute, a mail after ten", async (t) => {
    const { email } = await signedUp(world, world.mailServer);
    const thief = visitor();
    const guess = async () => (await thief.signIn(email, "a wrong password")).status;
    for (let n = 0; n < 5; n++) t.equal(await guess(), 401);
    t.equal(await guess(), 429);
    world.pass(MINUTE_MS);
    t.equal(await guess(), 401);
    t.equal(await guess(), 429);
    const forget = async () => (await visitor().post("/password/forgot", { email })).status;
    while ((await forget()) === 202);
    world.pass(10 * MINUTE_MS);
    t.equal(await forget(), 202);
    t.equal(await forget(), 429);
  });

  t.test("a forged session costs the ledger no query", async (t) => {
    const { accounts, database, clock } = world.gateway.services;
    let queries = 0;
    const counting: typeof database = {
      ...database,
      query: (sql, parameters) => {
        queries += 1;
        return database.query(sql, parameters);
      },
    };
    const sessions = new Sessions(accounts, counting, clock, v.parse(options, {}));
    const enter = (cookie: string | undefined) =>
      sessions.enter(
        {
          method: "GET",
          path: "/account/v1/me",
          params: {},
          query: new URLSearchParams(),
          headers: { ...(cookie !== undefined && { cookie }) },
          body: Buffer.alloc(0),
          remoteAddress: "203.0.113.1",
          addressBlock: "203.0.113.1",
          requestId: "x",
        },
        world.url,
      );
    const { cookie = "", accountId } = await signedUp(world, world.mailServer);
    t.match(await enter(cookie), { accountId });
    const before = queries;
    const changed = cookie.endsWith("A") ? "B" : "A";
    for (const forged of [
      `tollgate_session=${"x".repeat(43)}`,
      `tollgate_session=${changed}${cookie.slice("tollgate_session=".length + 1)}`,
    ]) {
      t.match(await enter(forged), { status: 401, code: "not_signed_in" });
    }
    t.equal(queries, before);
    t.match(await enter(cookie), { accountId });
  });

  t.test("an unverified account is deleted after a week, unless it has money", async (t) => {
    const { accounts, database, clock } = world.gateway.services;
    const signUp = async () => {
      const email = newEmail();
      await visitor().post("/sign-up", { email, password: PASSWORD });
      await world.mailServer.mailsTo(email);
      return email;
    };
    const exists = async (email: string) => (await accounts.findByEmail(email)) !== undefined;
    const sweep = () => new CredentialStore(accounts, database, clock).sweep();
    const verified = await signedUp(world, world.mailServer);
    const [forgotten, credited, slow] = [await signUp(), await signUp(), await signUp()];
    await credit(world, (await accounts.findByEmail(credited))?.id ?? "", 5);
    const byOperator = newEmail();
    await accounts.create({ id: newId(clock.now()), email: byOperator });
    const all = [verified.email, forgotten, credited, slow, byOperator];
    const left = async () => Promise.all(all.map(exists));
    world.pass(7 * DAY_MS - MINUTE_MS);
    await sweep();
    t.strictSame(await left(), [true, true, true, true, true]);
    // A link that was sent again is still good for two days.
    await visitor().post("/verification/resend", { email: slow });
    const token = tokenIn((await world.mailServer.mailsTo(slow, 2)).at(-1));
    world.pass(MINUTE_MS);
    await sweep();
    t.strictSame(await left(), [true, false, true, true, true]);
    t.equal((await visitor().post("/verify", { token, password: PASSWORD })).status, 200);
    world.pass(7 * DAY_MS);
    await sweep();
    t.strictSame(await left(), [true, false, true, true, true]);
    // The address is free again.
    await visitor().post("/sign-up", { email: forgotten, password: PASSWORD });
    t.match((await world.mailServer.mailsTo(forgotten, 2)).at(-1)?.subject, /Verify your email/);
  });

  t.test("a key is shown, made or let do more for 15 minutes after the password", async (t) => {
    const session = await signedUp(world, world.mailServer);
    const key = (await session.post("/keys", { name: "first" })).body;
    const asked = async () => [
      (await session.post("/keys", { name: "more" })).code,
      (await session.post(`/keys/${key.id}/reveal`)).code,
      (await session.post(`/keys/${key.id}/limits`, { paused: false })).code,
    ];
    t.strictSame(await asked(), [undefined, undefined, undefined]);
    world.pass(15 * MINUTE_MS);
    t.strictSame(await asked(), Array(3).fill("password_required"));
    const proof = async (body: object) => (await session.post("/proof", body)).code;
    const pause = await session.post(`/keys/${key.id}/limits`, { paused: true });
    t.equal(pause.status, 200, "a leaked key is stopped without delay");
    t.equal(await proof({}), "password_required");
    t.equal(await proof({ code: "123456" }), "password_required");
    t.equal(await proof({ current: "a wrong password" }), "wrong_password");
    t.strictSame(await asked(), Array(3).fill("password_required"));
    t.equal(await proof({ current: PASSWORD }), undefined);
    t.strictSame(await asked(), [undefined, undefined, undefined]);
    // Another session of the account has to prove itself.
    const other = visitor();
    await other.signIn(session.email);
    world.pass(10 * MINUTE_MS);
    t.equal(await proof({ current: PASSWORD }), undefined);
    world.pass(10 * MINUTE_MS);
    t.equal((await other.post(`/keys/${key.id}/reveal`)).code, "password_required");
    t.equal((await session.post(`/keys/${key.id}/reveal`)).body.key, key.key);
    // With a second factor, a code.
    const { secret } = (await session.post("/second-factor", { current: PASSWORD })).body;
    const codeNow = () => codeAt(secret, Math.floor(world.now() / 30_000));
    await session.post("/second-factor/confirm", { code: codeNow() });
    world.pass(15 * MINUTE_MS);
    t.strictSame(await asked(), Array(3).fill("code_required"));
    t.equal(await proof({ current: PASSWORD }), "code_required");
    t.equal(await proof({ code: "000000" }), "wrong_code");
    t.equal(await proof({ code: codeNow() }), undefined);
    t.strictSame(await asked(), [undefined, undefined, undefined]);
  });

  t.test("expired rows are deleted", async (t) => {
    const { accounts, database, clock } = world.gateway.services;
    const count = async () => {
      const [row] = await database.query<{ rows: number }>(`
        select (select count(*) from account_sessions)::int + (select count(*) from account_tokens)::int
          + (select count(*) from account_throttles)::int as rows`);
      return row?.rows;
    };
    await signedUp(world, world.mailServer);
    t.ok((await count()) ?? 0 > 3);
    world.pass(31 * DAY_MS);
    await new CredentialStore(accounts, database, clock).sweep();
    await new Sessions(accounts, database, clock, v.parse(options, {})).sweep();
    t.equal(await count(), 0);
  });
});
