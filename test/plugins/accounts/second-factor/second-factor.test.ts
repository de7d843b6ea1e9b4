import assert from "node:assert/strict";
import t from "tap";
import { codeAt } from "../../../../plugins/sign-in-parts/totp.ts";
import { admin } from "../../../support/admin.ts";
import {
  type AccountAnswer,
  BrowserSession,
  ownAddress,
  PASSWORD,
  signedUp,
} from "../../../support/browser-session.ts";
import { tokenIn } from "../../../support/mail-server.ts";
import { bootInProcess } from "../in-process.ts";

const STEP_MS = 30_000;
const HOUR_MS = 3_600_000;
const NEW_PASSWORD = "mật khẩu mới";

t.test("a second factor", async (t) => {
  const world = await bootInProcess();
  t.teardown(() => world.close());

  function visitor(): BrowserSession {
    const session = new BrowserSession(world);
    session.headers = { "x-forwarded-for": ownAddress() };
    return session;
  }

  /** The code that an authenticator app shows so many steps from now. */
  const codeOf = (secret: string, aside = 0) =>
    codeAt(secret, Math.floor(world.now() / STEP_MS) + aside);

  async function begun(customer: BrowserSession): Promise<string> {
    const { status, body, text } = await customer.post("/second-factor", { current: PASSWORD });
    assert.equal(status, 201, text);
    return body.secret;
  }

  /** A customer who has switched it on. The next code is one that was not used. */
  async function withFactor() {
    const customer = await signedUp(world, world.mailServer);
    const secret = await begun(customer);
    const on = await customer.post("/second-factor/confirm", { code: codeOf(secret) });
    assert.equal(on.status, 200, on.text);
    world.pass(STEP_MS);
    return { customer, email: customer.email, secret, codes: on.body.recovery_codes as string[] };
  }

  const signIn = (email: string, code?: string, session = visitor(), password = PASSWORD) =>
    session.post("/sign-in", { email, password, ...(code !== undefined && { code }) });
  const outcome = ({ status, code }: AccountAnswer) => [status, code];

  t.test("is asked for after the right password only", async (t) => {
    const { email, secret } = await withFactor();
    const without = await signIn(email);
    t.strictSame(outcome(without), [401, "second_factor_required"]);
    t.strictSame(without.headers.getSetCookie(), []);
    const guess = await signIn(email, codeOf(secret), visitor(), "a wrong password");
    t.strictSame(outcome(guess), [401, "wrong_credentials"]);
    for (const wrong of ["000000", "abcd-efgh-ijkl-mnop", "x"]) {
      const code = wrong === codeOf(secret) ? "000001" : wrong;
      t.strictSame(outcome(await signIn(email, code)), [403, "wrong_code"]);
    }
    for (const code of ["", "1".repeat(41), 123456]) {
      const impossible = await visitor().post("/sign-in", { email, password: PASSWORD, code });
      t.strictSame([impossible.status, impossible.body.error.param], [400, "code"]);
    }
    const owner = visitor();
    const spaced = codeOf(secret).replace(/(...)(...)/, "$1 $2");
    t.equal((await signIn(email, spaced, owner)).status, 200);
    t.equal((await owner.get("/me")).status, 200);
  });

  t.test("takes each code once, even if it is used several times at once", async (t) => {
    const { email, secret } = await withFactor();
    const code = codeOf(secret);
    const replies = await Promise.all(Array.from({ length: 4 }, () => signIn(email, code)));
    t.equal(replies.filter(({ status }) => status === 200).length, 1);
    t.equal(replies.filter(({ code }) => code === "wrong_code").length, 3);
    const before = codeOf(secret, -1);
    t.equal((await signIn(email, before)).code, "wrong_code", "one of an earlier step");
    t.equal((await signIn(email, codeOf(secret, 1))).status, 200, "the next one");
  });

  t.test("does not take the code again that switched it on", async (t) => {
    const customer = await signedUp(world, world.mailServer);
    const code = codeOf(await begun(customer));
    await customer.post("/second-factor/confirm", { code });
    t.equal((await signIn(customer.email, code)).code, "wrong_code");
  });

  t.test("can be replaced by ten recovery codes, each once", async (t) => {
    const { customer, email, secret, codes } = await withFactor();
    t.equal(new Set(codes).size, 10);
    for (const code of codes) t.match(code, /^(?:[a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    const [first = "", second = "", third = ""] = codes;
    const replies = await Promise.all([1, 2, 3].map(() => signIn(email, first)));
    t.equal(replies.filter(({ status }) => status === 200).length, 1);
    const typed = second.toUpperCase().replaceAll("-", " ");
    t.equal((await signIn(email, typed)).status, 200);
    t.equal((await customer.get("/second-factor")).body.recovery_codes_left, 8);

    const other = await withFactor();
    t.equal((await signIn(other.email, third)).code, "wrong_code", "of another account");
    world.pass(STEP_MS);
    const fresh = await customer.post("/second-factor/recovery-codes", {
      current: PASSWORD,
      code: codeOf(secret),
    });
    t.equal(fresh.body.recovery_codes.length, 10);
    t.equal((await signIn(email, third)).code, "wrong_code", "an old one");
    t.equal((await signIn(email, fresh.body.recovery_codes[9])).status, 200);
  });

  t.test("limits guesses as passwords are limited, and tighter over all addresses", async (t) => {
    const { customer, email, secret } = await withFactor();
    const thief = visitor();
    const guesses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signIn(email, `${n} no code`, thief)),
    );
    t.equal(guesses.filter(({ code }) => code === "wrong_code").length, 5);
    t.equal(guesses.filter(({ code }) => code === "too_many_attempts").length, 15);
    t.equal((await signIn(email, codeOf(secret), thief)).status, 429, "right ones wait too");
    let more = 0;
    while ((await signIn(email, "no code")).code === "wrong_code") more += 1;
    t.equal(more, 5, "ten in all, the thief's five among them");
    t.equal((await signIn(email, codeOf(secret))).status, 429, "a new browser has to wait");
    t.equal((await signIn(email, codeOf(secret), customer)).status, 200, "the owner's has not");
  });

  t.test("does not count right codes as guesses", async (t) => {
    const { email, secret } = await withFactor();
    for (let n = 0; n < 12; n += 1) {
      t.equal((await signIn(email, codeOf(secret))).status, 200);
      world.pass(STEP_MS);
    }
  });

  t.test("stays on after a reset and a change of the password", async (t) => {
    const { customer, email, secret } = await withFactor();
    await visitor().post("/password/forgot", { email });
    const mails = await world.mailServer.mailsTo(email, 3);
    const token = mails.filter(({ text }) => text?.includes("/reset#token=")).map(tokenIn)[0];
    const reset = await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
    t.equal(reset.status, 200, reset.text);
    const without = await signIn(email, undefined, visitor(), NEW_PASSWORD);
    t.strictSame(outcome(without), [401, "second_factor_required"]);
    t.equal((await signIn(email, codeOf(secret), customer, NEW_PASSWORD)).status, 200);
    const change = { current: NEW_PASSWORD, password: PASSWORD };
    t.equal((await customer.post("/password/change", change)).status, 200);
    t.equal((await signIn(email)).code, "second_factor_required");
  });

  t.test("is asked for by the link of the sign-up too, which can be opened again", async (t) => {
    const { email, secret } = await withFactor();
    const [mail] = await world.mailServer.mailsTo(email);
    const again = { token: tokenIn(mail), password: PASSWORD };
    const without = await visitor().post("/verify", again);
    t.strictSame(outcome(without), [401, "second_factor_required"]);
    t.equal((await visitor().post("/verify", { ...again, code: codeOf(secret) })).status, 200);
  });

  t.test("is switched on with the password and a first code, never by halves", async (t) => {
    const customer = await signedUp(world, world.mailServer);
    const { email } = customer;
    const other = visitor();
    await other.signIn(email);
    const off = { available: true, enabled_at: null, recovery_codes_left: 0 };
    t.strictSame((await customer.get("/second-factor")).body, off);
    const wrong = await customer.post("/second-factor", { current: "wrong" });
    t.strictSame(outcome(wrong), [403, "wrong_password"]);
    const early = await customer.post("/second-factor/confirm", { code: "123456" });
    t.strictSame(outcome(early), [409, "nothing_to_confirm"]);

    const replaced = await begun(customer);
    const secret = await begun(customer);
    const first = await customer.post("/second-factor/confirm", { code: codeOf(replaced) });
    t.strictSame(outcome(first), [403, "wrong_code"], "the first secret was replaced");
    t.equal((await other.signIn(email)).status, 200, "off until the first code");
    const code = codeOf(secret);
    const replies = await Promise.all(
      [1, 2].map(() => customer.post("/second-factor/confirm", { code })),
    );
    t.strictSame(replies.map(({ status }) => status).sort(), [200, 409]);
    t.equal((await customer.get("/me")).status, 200);
    t.equal((await other.get("/me")).status, 401, "a session without a code ends");
    await world.mailServer.mailTo(email, /Two-step sign-in is on/);
    const again = await customer.post("/second-factor", { current: PASSWORD });
    t.strictSame(outcome(again), [409, "second_factor_on"]);

    const late = await signedUp(world, world.mailServer);
    const old = await begun(late);
    world.pass(HOUR_MS);
    const expired = await late.post("/second-factor/confirm", { code: codeOf(old) });
    t.strictSame(outcome(expired), [409, "nothing_to_confirm"]);
  });

  t.test("that is switched on during sign-ins without a code ends their sessions", async (t) => {
    const customer = await signedUp(world, world.mailServer);
    const secret = await begun(customer);
    const thieves = Array.from({ length: 8 }, () => visitor());
    const [on] = await Promise.all([
      customer.post("/second-factor/confirm", { code: codeOf(secret) }),
      ...thieves.map((thief) => thief.signIn(customer.email)),
    ]);
    t.equal(on?.status, 200);
    for (const thief of thieves) t.equal((await thief.get("/me")).status, 401);
  });

  t.test("is switched off with the password and a code only", async (t) => {
    const { customer, email, secret } = await withFactor();
    const code = codeOf(secret);
    const off = (body: object) => customer.post("/second-factor/off", body);
    t.equal((await off({ current: PASSWORD })).status, 400);
    t.equal((await off({ current: "wrong", code })).code, "wrong_password");
    t.equal((await off({ current: PASSWORD, code: "wrong" })).code, "wrong_code");
    t.equal((await signIn(email)).code, "second_factor_required");
    await world.mailServer.mailsTo(email, 2);
    t.equal((await off({ current: PASSWORD, code })).status, 200);
    t.equal((await signIn(email)).status, 200);
    await world.mailServer.mailTo(email, /Two-step sign-in is off/);
    t.equal((await off({ current: PASSWORD, code })).code, "second_factor_off");
  });

  t.test("can be switched off by an operator, who gives a reason for the trail", async (t) => {
    const { customer, email, codes } = await withFactor();
    const { accountId } = customer;
    const path = `/accounts/${accountId}/second-factor/off`;
    t.equal((await admin(world, "POST", path, {})).status, 400);
    const reason = "lost the phone; called back";
    const off = await admin(world, "POST", path, { reason });
    t.strictSame(off.body, { account: accountId, email, was_on: true });
    t.equal((await signIn(email)).status, 200);
    t.equal((await admin(world, "POST", path, { reason })).body["was_on"], false);
    const trail = await admin(world, "GET", `/actions?account=${accountId}`);
    t.match(JSON.stringify(trail.body), new RegExp(`second-factor/off.*${reason}`));
    await begun(customer);
    t.equal((await admin(world, "POST", path, { reason })).body["was_on"], false, "not confirmed");
    t.equal(
      (await customer.post("/second-factor/confirm", { code: "1" })).code,
      "nothing_to_confirm",
    );
    await begun(customer);
    t.equal((await signIn(email, codes[0])).status, 200, "off, a code is not looked at");
    const unknown = path.replace(accountId, "0190a0a0-0000-7000-8000-000000000000");
    t.equal((await admin(world, "POST", unknown, { reason })).status, 404);
    t.equal((await admin(world, "POST", path.replace(accountId, "x"), { reason })).status, 404);
  });
});
