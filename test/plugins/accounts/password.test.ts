import assert from "node:assert/strict";
import t from "tap";
import { type AccountsGateway, startAccountsGateway } from "../../support/accounts.ts";
import { admin } from "../../support/admin.ts";
import {
  BrowserSession,
  newEmail,
  ownAddress,
  PASSWORD,
  signedUp,
} from "../../support/browser-session.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { type TestMailServer, tokenIn } from "../../support/mail-server.ts";
import { until } from "../../support/until.ts";

const NEW_PASSWORD = "mật khẩu mới";

t.test("a password", async (t) => {
  let all: AccountsGateway;
  let gateway: TestGateway;
  let mailServer: TestMailServer;
  t.before(async () => {
    all = await startAccountsGateway();
    ({ gateway, mailServer } = all);
  });
  t.teardown(() => all.close());

  function visitor(): BrowserSession {
    const session = new BrowserSession(gateway);
    session.headers = { "x-forwarded-for": ownAddress() };
    return session;
  }

  /** The token in the mail that resets a forgotten password. */
  async function resetToken(email: string): Promise<string> {
    const resets = async () =>
      (await mailServer.mailsTo(email, 0)).filter(({ text }) => text?.includes("/reset#token="));
    const before = await resets();
    assert.equal((await visitor().post("/password/forgot", { email })).status, 202);
    await until("the link is mailed", async () => (await resets()).length > before.length);
    return tokenIn((await resets()).find((mail) => !before.includes(mail)));
  }

  t.test("can be reset by mail, which ends every session", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const { email } = customer;
    const token = await resetToken(email);
    const done = await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
    t.equal(done.status, 200, done.text);
    t.equal((await customer.get("/me")).status, 401);
    t.equal((await visitor().signIn(email)).status, 401);
    t.equal((await visitor().signIn(email, NEW_PASSWORD)).status, 200);
    // The link to verify, the one to reset, what happened, and the new browser.
    const told = (await mailServer.mailsTo(email, 4)).find(({ subject }) =>
      /đã được thay đổi.*was changed/.test(subject ?? ""),
    );
    t.ok(told);
    t.ok(!told?.text?.includes("#token="));
  });

  t.test("that is reset offers to revoke the keys that a thief may have", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const { email } = customer;
    for (const name of ["laptop", "thief"]) await customer.post("/keys", { name });
    const statuses = async () =>
      (await customer.get("/keys")).body.data.map(({ status }: { status: string }) => status);
    const token = await resetToken(email);
    const { body } = await visitor().post("/password/reset/keys", { token });
    t.strictSame(body.data.map(({ name }: { name: string }) => name).sort(), ["laptop", "thief"]);
    t.strictSame(
      body.data.map((key: { last_used_at: null }) => key.last_used_at),
      [null, null],
    );
    t.notMatch(JSON.stringify(body), /"key"|"id"/);
    t.equal((await visitor().post("/password/reset/keys", { token: "x".repeat(43) })).status, 400);

    const kept = await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
    t.equal(kept.body.revoked_keys, 0);
    await customer.signIn(email, NEW_PASSWORD);
    t.strictSame(await statuses(), ["active", "active"]);

    const again = await resetToken(email);
    const revoked = await visitor().post("/password/reset", {
      token: again,
      password: PASSWORD,
      revoke_keys: true,
    });
    t.equal(revoked.body.revoked_keys, 2);
    await customer.signIn(email);
    t.strictSame(await statuses(), ["revoked", "revoked"]);
  });

  t.test("that is easy to guess is refused at a reset and at a change", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const { email } = customer;
    const token = await resetToken(email);
    const reset = await visitor().post("/password/reset", { token, password: "password123" });
    t.strictSame([reset.status, reset.code], [400, "weak_password"]);
    const password = email.split("@")[0]?.toUpperCase();
    const change = await customer.post("/password/change", { current: PASSWORD, password });
    t.strictSame([change.status, change.code], [400, "weak_password"]);
  });

  t.test(
    "can be set only once by one link, even if it is used several times at once",
    async (t) => {
      const { email } = await signedUp(gateway, mailServer);
      const [one, two] = [await resetToken(email), await resetToken(email)];
      const answers = await Promise.all(
        [one, one, two, two].map((token, n) =>
          visitor().post("/password/reset", { token, password: `${NEW_PASSWORD} ${n}` }),
        ),
      );
      t.equal(answers.filter(({ status }) => status === 200).length, 1);
      t.equal(answers.filter(({ code }) => code === "invalid_token").length, 3);
      const set = answers.findIndex(({ status }) => status === 200);
      t.equal((await visitor().signIn(email, `${NEW_PASSWORD} ${set}`)).status, 200);
    },
  );

  t.test("cannot be set with an invalid token, or with one for another purpose", async (t) => {
    const { email } = await signedUp(gateway, mailServer);
    const [verifyMail] = await mailServer.mailsTo(email);
    for (const token of ["x".repeat(43), "", tokenIn(verifyMail)]) {
      const answer = await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
      t.strictSame([answer.status, answer.code], [400, "invalid_token"]);
    }
    const token = await resetToken(email);
    const short = await visitor().post("/password/reset", { token, password: "short" });
    t.strictSame([short.status, short.body.error.param], [400, "password"]);
    // That does not use up the token.
    const answer = await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
    t.equal(answer.status, 200);
  });

  t.test("can be set by mail for an account that an operator created", async (t) => {
    const email = newEmail();
    const { body } = await admin(gateway, "POST", "/accounts", { email });
    t.equal((await visitor().signIn(email, NEW_PASSWORD)).status, 401);
    const token = await resetToken(email);
    t.equal(
      (await visitor().post("/password/reset", { token, password: NEW_PASSWORD })).status,
      200,
    );
    const { account } = (await visitor().signIn(email, NEW_PASSWORD)).body;
    t.strictSame([account.id, account.email_verified], [body["id"], true]);
  });

  t.test(
    "leaves the language of the page on which it was set, until another is chosen",
    async (t) => {
      const chosen = async (email: string, language?: string) => {
        const token = await resetToken(email);
        await visitor().post("/password/reset", { token, password: NEW_PASSWORD, language });
        return (await visitor().signIn(email, NEW_PASSWORD)).body.account.language;
      };
      const email = newEmail();
      await admin(gateway, "POST", "/accounts", { email });
      // None is chosen yet: the pages take the browser's, and mails that of the config.
      t.equal(await chosen(email), null);
      t.equal(await chosen(email, "en"), "en");
      t.equal(await chosen(email, "vi"), "en");
    },
  );

  t.test(
    "set by a stranger at sign-up stops working once the address's owner resets it",
    async (t) => {
      const email = newEmail();
      await visitor().post("/sign-up", { email, password: "of the squatter" });
      await mailServer.mailsTo(email);
      await visitor().post("/sign-up", { email, password: PASSWORD });
      const token = tokenIn((await mailServer.mailsTo(email, 2)).at(-1));
      await visitor().post("/password/reset", { token, password: NEW_PASSWORD });
      t.equal((await visitor().signIn(email, "of the squatter")).status, 401);
      const owner = visitor();
      t.equal((await owner.signIn(email, NEW_PASSWORD)).body.account.email_verified, true);
    },
  );

  t.test("can be changed with the old one, which ends all other sessions", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const { email } = customer;
    const other = visitor();
    await other.signIn(email);
    const token = await resetToken(email);
    const wrong = await customer.post("/password/change", {
      current: "wrong",
      password: NEW_PASSWORD,
    });
    t.strictSame([wrong.status, wrong.code], [403, "wrong_password"]);
    const short = await customer.post("/password/change", { current: PASSWORD, password: "short" });
    t.equal(short.status, 400);
    const done = await customer.post("/password/change", {
      current: PASSWORD,
      password: NEW_PASSWORD,
    });
    t.equal(done.status, 200);
    t.equal((await customer.get("/me")).status, 200);
    t.equal((await other.get("/me")).status, 401);
    t.equal((await visitor().signIn(email)).status, 401);
    t.equal((await visitor().signIn(email, NEW_PASSWORD)).status, 200);
    // A link sent before the change no longer works.
    const late = await visitor().post("/password/reset", { token, password: PASSWORD });
    t.equal(late.code, "invalid_token");
  });

  t.test("that changes during a sign-in with the old one ends that new session too", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const thieves = Array.from({ length: 8 }, () => visitor());
    const [changed] = await Promise.all([
      customer.post("/password/change", { current: PASSWORD, password: NEW_PASSWORD }),
      ...thieves.map((thief) => thief.signIn(customer.email)),
    ]);
    t.equal(changed?.status, 200);
    for (const thief of thieves) t.equal((await thief.get("/me")).status, 401);
    t.equal((await customer.get("/sessions")).body.data.length, 1);
  });
});
