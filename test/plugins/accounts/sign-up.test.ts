import { setTimeout as delay } from "node:timers/promises";
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
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { ledgerSql, withLedger } from "../../support/ledger-sql.ts";
import { type TestMailServer, tokenIn } from "../../support/mail-server.ts";

t.test("sign-up", async (t) => {
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

  t.test("sends a mail in both languages whose link leads to a working key", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const [mail] = await mailServer.mailsTo(customer.email);
    t.match(mail?.subject ?? "", /Xác minh.*Verify/);
    t.ok(mail?.text?.includes(`${gateway.url}/dashboard/verify#token=`));
    const made = await customer.post("/keys", { name: "laptop" });
    t.equal(made.status, 201, made.text);
    const headers = { "x-api-key": made.body.key };
    t.equal((await fetch(`${gateway.url}/v1/models`, { headers })).status, 200);
    const { body } = await customer.get("/me");
    t.strictSame(
      { ...body, created_at: null, csrf_token: null },
      {
        id: customer.accountId,
        email: customer.email,
        email_verified: true,
        language: "vi",
        created_at: null,
        discount_bps: 0,
        csrf_token: null,
      },
    );
    t.equal(new Date(body.created_at).toISOString(), body.created_at);
    const wallet = { balance_vnd: "0", held_vnd: "0", available_vnd: "0", pending_vnd: "0" };
    t.strictSame((await customer.get("/wallet")).body, wallet);
  });

  t.test("stores the requested language, which can be changed later", async (t) => {
    const customer = visitor();
    const email = newEmail();
    await customer.post("/sign-up", { email, password: PASSWORD, language: "en" });
    const [mail] = await mailServer.mailsTo(email);
    t.match(mail?.subject ?? "", /Verify.*Xác minh/);
    await customer.post("/verify", { token: tokenIn(mail), password: PASSWORD });
    t.equal((await customer.signIn(email)).body.account.language, "en");
    t.equal((await customer.post("/me", { language: "vi" })).body.language, "vi");
    t.equal((await customer.get("/me")).body.language, "vi");
    t.equal((await customer.post("/me", { language: "fr" })).status, 400);
  });

  t.test("ignores the case of an address and the space around it", async (t) => {
    const email = newEmail();
    await visitor().post("/sign-up", { email: ` ${email.toUpperCase()} `, password: PASSWORD });
    const [mail] = await mailServer.mailsTo(email);
    await visitor().post("/verify", { token: tokenIn(mail), password: PASSWORD });
    t.equal((await visitor().signIn(email.toUpperCase())).status, 200);
  });

  for (const [what, body, param] of [
    ["no address", { password: PASSWORD }, "email"],
    ["what is no address", { email: "nobody", password: PASSWORD }, "email"],
    ["two addresses", { email: "a@b.vn, c@d.vn", password: PASSWORD }, "email"],
    [
      "an address with a line break",
      { email: "a@b.vn\r\nbcc: c@d.vn", password: PASSWORD },
      "email",
    ],
    ["no password", { email: "a@b.vn" }, "password"],
    ["nine characters", { email: "a@b.vn", password: "khẩu 5678" }, "password"],
    // Decomposed, they are twenty code points.
    [
      "nine letters with marks",
      { email: "a@b.vn", password: "ậậậậậậậậậ".normalize("NFD") },
      "password",
    ],
    ["201 characters", { email: "a@b.vn", password: "x".repeat(201) }, "password"],
    ["a password that is a number", { email: "a@b.vn", password: 1234567890 }, "password"],
    ["another language", { email: "a@b.vn", password: PASSWORD, language: "fr" }, "language"],
    ["a field that is not there", { email: "a@b.vn", password: PASSWORD, admin: true }, "admin"],
    ["a list", [], null],
    ["what is no JSON", "{", null],
  ] as const) {
    t.test(`refuses ${what}`, async (t) => {
      const answer = await visitor().post("/sign-up", body);
      t.equal(answer.status, 400, answer.text);
      t.equal(answer.body.error.param, param);
      t.ok(!answer.text.includes("khẩu 5678"), "the reply does not contain the password");
    });
  }

  t.test("accepts passwords of 10 to 200 characters of any kind", async (t) => {
    for (const password of ["0918273645", "🔑🔒🗝️🔓🚪".repeat(30)]) {
      const email = newEmail();
      t.equal((await visitor().post("/sign-up", { email, password })).status, 202);
      const [mail] = await mailServer.mailsTo(email);
      await visitor().post("/verify", { token: tokenIn(mail), password });
      t.equal((await visitor().signIn(email, password)).status, 200);
    }
  });

  t.test("refuses passwords that others try first", async (t) => {
    const email = newEmail();
    for (const password of [
      "1234567890",
      "password123",
      "Qwertyuiop",
      "aaaaaaaaaa",
      "1212121212",
      `my ${email.split("@")[0]}`,
      email,
    ]) {
      const answer = await visitor().post("/sign-up", { email, password });
      t.strictSame([answer.status, answer.code], [400, "weak_password"], password);
      t.ok(!answer.text.includes(password), "the reply does not contain the password");
    }
    t.equal((await mailServer.mailsTo(email, 0)).length, 0);
  });

  t.test("by a stranger does not give away the account of the address's owner", async (t) => {
    const [email, stranger, owner] = [newEmail(), visitor(), visitor()];
    await stranger.post("/sign-up", { email, password: "of the squatter" });
    const [mail] = await mailServer.mailsTo(email);
    const token = tokenIn(mail);
    // The owner of the address opens the link, and does not know the password.
    const opened = await owner.post("/verify", { token, password: PASSWORD });
    t.strictSame([opened.status, opened.code], [403, "wrong_sign_up_password"]);
    t.equal((await owner.post("/verify", { token })).status, 400);
    t.equal((await stranger.signIn(email, "of the squatter")).status, 401);

    // The stranger's sign-in has sent the first link again.
    await mailServer.mailsTo(email, 2);
    await owner.post("/password/forgot", { email });
    const reset = tokenIn(await mailServer.mailTo(email, /reset#token=/));
    t.equal(
      (await owner.post("/password/reset", { token: reset, password: PASSWORD })).status,
      200,
    );
    t.equal((await owner.signIn(email)).status, 200);
    t.equal((await stranger.signIn(email, "of the squatter")).status, 401);
  });

  t.test("requires a verified address to sign in, and sends the link again", async (t) => {
    const customer = visitor();
    const email = newEmail();
    await customer.post("/sign-up", { email, password: PASSWORD });
    const early = await customer.signIn(email);
    t.strictSame([early.status, early.code], [401, "wrong_credentials"]);
    t.equal(customer.cookie, undefined);
    // Signing in with the right password sends the link again, once. So does asking for it.
    await mailServer.mailsTo(email, 2);
    await customer.signIn(email);
    t.equal((await customer.post("/verification/resend", { email })).status, 202);
    const mails = await mailServer.mailsTo(email, 3);
    // Every link works, and opening one twice is no error.
    for (const mail of mails) {
      t.equal(
        (await visitor().post("/verify", { token: tokenIn(mail), password: PASSWORD })).status,
        200,
      );
    }
    t.equal((await customer.signIn(email)).body.account.email_verified, true);
    t.equal((await customer.post("/keys", { name: "now" })).status, 201);
    const links = (await mailServer.mailsTo(email)).filter(({ text }) => text?.includes("#token="));
    t.equal(links.length, 3);
  });

  t.test("creates no key for an unverified address, even in a signed-in session", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    await ledgerSql(
      gateway,
      `update account_credentials set verified_at = null where account_id = '${customer.accountId}'`,
    );
    const refused = await customer.post("/keys", { name: "too soon" });
    t.strictSame([refused.status, refused.code], [403, "email_not_verified"]);
    t.equal((await customer.get("/me")).body.email_verified, false);
  });

  t.test("sends no link again if there is nothing to verify", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const nobody = newEmail();
    const answers = [];
    for (const email of [customer.email, nobody]) {
      answers.push(await visitor().post("/verification/resend", { email }));
    }
    t.strictSame(
      answers.map(({ status, text }) => [status, text]),
      [
        [202, "{}"],
        [202, "{}"],
      ],
    );
    // Once this mail has come, any earlier one would have come too.
    await visitor().post("/password/forgot", { email: customer.email });
    const [, second] = await mailServer.mailsTo(customer.email, 2);
    t.match(second?.subject ?? "", /Reset your password/);
    t.ok(!mailServer.mails.some((mail) => JSON.stringify(mail.to).includes(nobody)));
  });

  t.test("refuses invalid tokens, and tokens for another purpose", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    await visitor().post("/password/forgot", { email: customer.email });
    const [, resetMail] = await mailServer.mailsTo(customer.email, 2);
    for (const token of ["x".repeat(43), "", "short", null, tokenIn(resetMail)]) {
      const answer = await visitor().post("/verify", { token, password: PASSWORD });
      t.strictSame([answer.status, answer.code], [400, "invalid_token"], String(token));
    }
  });

  t.test("sends three mails to one address, then makes every further request wait", async (t) => {
    const email = newEmail();
    const customer = visitor();
    await customer.post("/sign-up", { email, password: PASSWORD });
    t.equal((await customer.post("/verification/resend", { email })).status, 202);
    t.equal((await visitor().post("/password/forgot", { email })).status, 202);
    for (const [path, body] of [
      ["/verification/resend", { email }],
      ["/password/forgot", { email }],
      ["/sign-up", { email, password: PASSWORD }],
    ] as const) {
      const session = visitor();
      const answer = await session.post(path, body);
      t.strictSame([answer.status, answer.code], [429, "too_many_attempts"], path);
      const waitS = Number(answer.headers.get("retry-after"));
      t.ok(waitS > 590 && waitS <= 600, `${waitS}`);
    }
  });

  t.test("accepts twenty an hour from one address, and more from other addresses", async (t) => {
    const headers = { "x-forwarded-for": ownAddress() };
    const password = "short";
    const tried = visitor();
    tried.headers = headers;
    // Malformed requests do not count.
    t.equal((await tried.post("/sign-up", { email: newEmail(), password })).status, 400);
    const answers = await Promise.all(
      Array.from({ length: 25 }, () =>
        tried.post("/sign-up", { email: newEmail(), password: PASSWORD }),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 202).length, 20);
    t.equal(answers.filter(({ code }) => code === "too_many_attempts").length, 5);
    const other = await visitor().post("/sign-up", { email: newEmail(), password: PASSWORD });
    t.equal(other.status, 202);
  });

  t.test("does not reveal whether an address has an account", async (t) => {
    t.test("by its reply: only the mail to the owner differs", async (t) => {
      const customer = await signedUp(gateway, mailServer);
      const fresh = newEmail();
      const body = { password: "another password" };
      const [taken, free] = [
        await visitor().post("/sign-up", { ...body, email: customer.email }),
        await visitor().post("/sign-up", { ...body, email: fresh }),
      ];
      t.strictSame([taken.status, taken.text], [free.status, free.text]);
      t.strictSame(comparable(taken.headers), comparable(free.headers));
      const [, mail] = await mailServer.mailsTo(customer.email, 2);
      t.match(mail?.subject ?? "", /đã có tài khoản.*already have an account/);
      t.ok(mail?.text?.includes(`${gateway.url}/dashboard/reset#token=`));
      // The stranger's password does not work for the account.
      t.equal((await visitor().signIn(customer.email, "another password")).status, 401);
      t.equal((await visitor().signIn(customer.email)).status, 200);
    });

    t.test(
      "by its duration: both hash a password and reply at a full quarter of a second",
      async (t) => {
        const customer = await signedUp(gateway, mailServer);
        for (const email of [customer.email, newEmail()]) {
          const startedMs = performance.now();
          await visitor().post("/sign-up", { email, password: PASSWORD });
          t.ok(performance.now() - startedMs >= 249, email);
        }
      },
    );

    t.test("by the reply to a forgotten password", async (t) => {
      const customer = await signedUp(gateway, mailServer);
      const [there, nowhere] = [
        await visitor().post("/password/forgot", { email: customer.email }),
        await visitor().post("/password/forgot", { email: newEmail() }),
      ];
      t.strictSame([there.status, there.text], [nowhere.status, nowhere.text]);
      t.strictSame(comparable(there.headers), comparable(nowhere.headers));
    });

    t.test(
      "to a stranger who signs up and then signs in to test which password is stored",
      async (t) => {
        const taken = newEmail();
        // Created by an operator, so that no mail to it counts yet.
        await admin(gateway, "POST", "/accounts", { email: taken });
        const answers = [];
        for (const email of [taken, newEmail()]) {
          const spy = visitor();
          const password = "of the stranger";
          await spy.post("/sign-up", { email, password });
          const statuses: unknown[] = [];
          // The number of attempts is the same for right and wrong passwords.
          for (let n = 0; n < 7; n++) statuses.push((await spy.signIn(email, password)).text);
          // The number of mails left is the same too.
          for (let n = 0; n < 3; n++) {
            statuses.push((await visitor().post("/password/forgot", { email })).status);
          }
          answers.push(statuses);
        }
        const [there, nowhere] = answers;
        t.strictSame(there?.slice(0, 5), nowhere?.slice(0, 5));
        for (const last of [there, nowhere]) t.strictSame(last?.slice(7), [202, 202, 429]);
      },
    );

    t.test(
      "by a wrong password, which also hides whether the account has a password",
      async (t) => {
        const customer = await signedUp(gateway, mailServer);
        const withoutPassword = newEmail();
        await admin(gateway, "POST", "/accounts", { email: withoutPassword });
        const answers = [];
        for (const email of [customer.email, newEmail(), withoutPassword]) {
          answers.push(await visitor().signIn(email, "a wrong password"));
        }
        for (const { status, text, headers } of answers) {
          t.strictSame([status, text], [401, answers[0]?.text]);
          t.strictSame(comparable(headers), comparable(answers[0]!.headers));
        }
      },
    );
  });

  // Each restarts the gateway with other settings, so they are last.
  t.test("takes the code of an invitation, once for each of its uses", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    await all.restart({ sign_up: "invited" });
    const tried = async (code?: string, email = newEmail(), by = visitor()) => {
      const answer = await by.post("/sign-up", { email, password: PASSWORD, code });
      return answer.status === 202 ? 202 : answer.code;
    };
    const invite = async (body: object) =>
      (await admin(gateway, "POST", "/invitations", body)).body;
    const page = await (await fetch(`${gateway.url}/dashboard/sign-up`)).text();
    t.match(page, ' data-sign-up="invited"');
    t.equal(await tried(), "invitation_required");

    // Five at once, and one use.
    const one = await invite({ note: "for An" });
    t.equal(one["link"], `${gateway.url}/dashboard/sign-up?code=${one["code"]}`);
    const emails = Array.from({ length: 5 }, newEmail);
    const code = String(one["code"]);
    const all5 = await Promise.all(emails.map((email) => tried(code, email)));
    t.strictSame(all5.sort(), [202, ...Array(4).fill("wrong_invitation")]);
    const accounts = await Promise.all(
      emails.map((query) => admin(gateway, "GET", `/accounts?query=${query}`)),
    );
    t.equal(accounts.flatMap(({ body }) => body["list"]).length, 1);

    // However it is typed. What is left does not reveal that an address has an account.
    const two = await invite({ uses: 2, until: "2999-12-31" });
    const typed = String(two["code"]).toUpperCase().replaceAll("-", " ");
    t.equal(await tried(typed, customer.email), 202);
    const listed = async (id: unknown) => {
      const { body } = await admin(gateway, "GET", "/invitations?limit=1");
      const [newest] = body["list"] as Record<string, unknown>[];
      t.equal(newest?.["id"], id);
      return newest;
    };
    const { code: secret, link: _, ...shown } = two;
    t.strictSame(await listed(two["id"]), { ...shown, uses_left: 1 });
    t.notMatch(JSON.stringify(await listed(two["id"])), String(secret));

    await ledgerSql(gateway, "update account_invitations set ends_at = now()");
    t.equal(await tried(typed), "wrong_invitation");
    const past = await admin(gateway, "POST", "/invitations", { until: "2026-01-01" });
    t.equal(past.status, 400);

    // A class signs up from one address: the invitation's uses are its limit.
    const [school, spring] = [visitor(), await invite({ uses: 25 })];
    const students = Array.from({ length: 25 }, () =>
      tried(String(spring["code"]), newEmail(), school),
    );
    t.strictSame(await Promise.all(students), Array(25).fill(202));
    t.equal(await tried(String(spring["code"]), newEmail(), school), "wrong_invitation");

    const three = await invite({});
    const path = `${gateway.url}/admin/v1/invitations/${three["id"]}`;
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const revoke = async () => (await fetch(path, { method: "DELETE", headers })).status;
    t.strictSame([await revoke(), await revoke()], [200, 404]);
    const guesser = visitor();
    const guesses = [];
    for (let n = 0; n < 31; n++) {
      guesses.push(await tried(String(three["code"]), newEmail(), guesser));
    }
    t.strictSame(guesses, [...Array(30).fill("wrong_invitation"), "too_many_attempts"]);
  });

  t.test("is only for the domains that the operator lists, or closed", async (t) => {
    const known = newEmail();
    await admin(gateway, "POST", "/accounts", { email: known });
    const tried = async (email: string) => {
      const { status, code } = await visitor().post("/sign-up", { email, password: PASSWORD });
      return [status, code];
    };
    await all.restart({ sign_up_domains: ["school.example"] });
    t.strictSame(await tried("An.Nguyen@School.example"), [202, undefined]);
    for (const other of ["a@sub.school.example", "a@myschool.example", known]) {
      t.strictSame(await tried(other), [403, "email_domain_refused"], other);
    }
    const front = async (path = "/") => (await fetch(gateway.url + path)).text();
    t.match(await front("/dashboard/sign-up"), ' data-sign-up="open"');
    t.match(await front(), 'href="/dashboard/sign-up"');
    await all.restart({ sign_up: "closed" });
    t.strictSame(await tried("b@school.example"), [403, "sign_up_closed"]);
    t.match(await front("/dashboard/sign-up"), ' data-sign-up="closed"');
    t.notMatch(await front(), 'href="/dashboard/sign-up"');
    t.equal((await admin(gateway, "POST", "/accounts", { email: newEmail() })).status, 201);
  });

  t.test(
    "needs agreement to the operator's terms, if there are some, and keeps its time",
    async (t) => {
      const html = "<!doctype html><h1>Điều khoản</h1><script>alert(1)</script>";
      await all.restart({ terms: html, privacy: "https://example.com/privacy" });
      const email = newEmail();
      const signUp = (more: object) =>
        visitor().post("/sign-up", { email, password: PASSWORD, ...more });
      for (const agreed of [undefined, false]) {
        const answer = await signUp({ agreed });
        t.strictSame([answer.status, answer.code], [400, "agreement_required"]);
      }
      t.equal((await signUp({ agreed: true })).status, 202);
      await mailServer.mailsTo(email);
      const since = await withLedger(gateway, (sql) =>
        sql.query(
          `select count(*)::int as n from account_credentials join accounts on id = account_id
        where email = $1 and agreed_at > now() - interval '1 hour'`,
          [email],
        ),
      );
      t.strictSame(since, [{ n: 1 }]);
      const terms = await fetch(`${gateway.url}/terms`);
      t.strictSame([terms.status, await terms.text()], [200, html]);
      t.match(terms.headers.get("content-security-policy"), /default-src 'none'.*sandbox/);
      t.equal((await fetch(`${gateway.url}/privacy`)).status, 404);
      const page = await (await fetch(`${gateway.url}/dashboard/sign-up`)).text();
      t.match(page, ' data-terms="/terms" data-privacy="https://example.com/privacy">');
      await all.restart({ terms: "Be kind." });
      const plain = await fetch(`${gateway.url}/terms`);
      t.equal(plain.headers.get("content-type"), "text/plain; charset=utf-8");
    },
  );
});

/** The headers of a reply, without those that differ each time. */
function comparable(headers: Headers): object {
  const { "x-request-id": _, date: __, ...rest } = Object.fromEntries(headers);
  return rest;
}

t.test("without a mail server", async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());

  t.test("the link is logged, and works", async (t) => {
    const [email, session] = [newEmail(), new BrowserSession(gateway)];
    await session.post("/sign-up", { email, password: PASSWORD });
    const link = new RegExp(
      `Mail to ${email}: .*\\n +${gateway.url}/dashboard/verify#token=(\\S+)`,
    );
    const deadline = performance.now() + 30_000;
    while (!link.test(gateway.logs)) {
      t.ok(performance.now() < deadline, gateway.logs);
      await delay(10);
    }
    const token = link.exec(gateway.logs)?.[1];
    t.equal((await session.post("/verify", { token, password: PASSWORD })).status, 200);
    t.ok(gateway.logs.includes("no smtp configured; printing the links"));
  });
});
