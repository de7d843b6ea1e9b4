import t from "tap";
import { type AccountsGateway, startAccountsGateway } from "../../support/accounts.ts";
import {
  BrowserSession,
  newEmail,
  ownAddress,
  PASSWORD,
  signedUp,
} from "../../support/browser-session.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { suspend } from "../../support/ledger-sql.ts";
import { type TestMailServer, tokenIn } from "../../support/mail-server.ts";

t.test("sessions", async (t) => {
  let all: AccountsGateway;
  let gateway: TestGateway;
  let mailServer: TestMailServer;
  t.before(async () => {
    all = await startAccountsGateway();
    ({ gateway, mailServer } = all);
  });
  t.teardown(() => all.close());

  function visitor(address = ownAddress()): BrowserSession {
    const session = new BrowserSession(gateway);
    session.headers = { "x-forwarded-for": address };
    return session;
  }

  t.test("use a cookie that scripts cannot read and other sites cannot send", async (t) => {
    const { email } = await signedUp(gateway, mailServer);
    const { headers, body } = await visitor().signIn(email);
    const cookie = headers.getSetCookie()[0] ?? "";
    const form =
      /^tollgate_session=[\w-]{43}; Max-Age=2592000; Path=\/account; HttpOnly; SameSite=Strict$/;
    t.match(cookie, form);
    t.equal(headers.get("cache-control"), "no-store");
    t.equal(body.csrf_token, body.account.csrf_token);
  });

  t.test("are new at every sign-in, each with its own CSRF token", async (t) => {
    const { email } = await signedUp(gateway, mailServer);
    const [one, two] = [visitor(), visitor()];
    await Promise.all([one.signIn(email), two.signIn(email)]);
    t.not(one.cookie, two.cookie);
    t.not(one.csrfToken, two.csrfToken);
    t.equal((await one.get("/me")).body.csrf_token, one.csrfToken);
    const mixed = await one.send("POST", "/sign-out", {}, { "x-csrf-token": two.csrfToken ?? "" });
    t.strictSame([mixed.status, mixed.code], [403, "wrong_csrf_token"]);
  });

  for (const [what, cookie] of [
    ["no cookie", ""],
    ["a cookie that is no session", `tollgate_session=${"x".repeat(43)}`],
    ["a cookie that is not even a token", "tollgate_session=' or 1=1"],
    ["an empty one", "tollgate_session="],
    ["another cookie", "session=1; x"],
  ] as const) {
    t.test(`are required: ${what} is refused`, async (t) => {
      const session = visitor();
      session.cookie = cookie;
      const answer = await session.get("/me");
      t.strictSame([answer.status, answer.code], [401, "not_signed_in"]);
    });
  }

  t.test("are found among other cookies", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    customer.cookie = `a=b; ${customer.cookie}; tollgate_session=other`;
    t.equal((await customer.get("/me")).status, 200);
  });

  t.test("check the origin and the CSRF token of every change", async (t) => {
    for (const [what, headers, status, code] of [
      ["without a CSRF token", { "x-csrf-token": "" }, 403, "wrong_csrf_token"],
      ["with a wrong one", { "x-csrf-token": "x".repeat(43) }, 403, "wrong_csrf_token"],
      ["from another origin", { origin: "https://evil.test" }, 403, "wrong_origin"],
      ["from an opaque origin", { origin: "null" }, 403, "wrong_origin"],
      ["from another port", { origin: "http://127.0.0.1:1" }, 403, "wrong_origin"],
      ["from another site", { "sec-fetch-site": "cross-site" }, 403, "wrong_origin"],
      ["from a neighbour", { "sec-fetch-site": "same-site" }, 403, "wrong_origin"],
      ["from its own page", { "sec-fetch-site": "same-origin" }, 200, undefined],
    ] as const) {
      t.test(what, async (t) => {
        const customer = await signedUp(gateway, mailServer);
        const answer = await customer.send("POST", "/me", { language: "en" }, headers);
        t.strictSame([answer.status, answer.code], [status, code]);
        const { language } = (await customer.get("/me")).body;
        t.equal(language, status === 200 ? "en" : "vi");
      });
    }

    t.test("from its own origin, under any of its host names", async (t) => {
      const customer = await signedUp(gateway, mailServer);
      const answer = await customer.send(
        "POST",
        "/me",
        { language: "en" },
        { origin: gateway.url },
      );
      t.equal(answer.status, 200);
      const url = gateway.url.replace("127.0.0.1", "localhost");
      const other = Object.assign(visitor(), { target: { url } });
      t.equal(
        (
          await other.send(
            "POST",
            "/sign-in",
            { email: customer.email, password: PASSWORD },
            { origin: url },
          )
        ).status,
        200,
      );
    });

    t.test("and the origin of every sign-in and sign-up", async (t) => {
      const { email } = await signedUp(gateway, mailServer);
      for (const headers of [{ origin: "https://evil.test" }, { "sec-fetch-site": "cross-site" }]) {
        for (const [path, body] of [
          ["/sign-in", { email, password: PASSWORD }],
          ["/sign-up", { email: newEmail(), password: PASSWORD }],
          ["/password/forgot", { email }],
          ["/password/reset", { token: "x".repeat(43), password: PASSWORD }],
          ["/verify", { token: "x".repeat(43), password: PASSWORD }],
        ] as const) {
          const answer = await visitor().send("POST", path, body, headers);
          t.strictSame([answer.status, answer.code], [403, "wrong_origin"], path);
        }
      }
    });
  });

  t.test("are listed with their address and browser, and can be ended one by one", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const other = visitor("203.0.113.9");
    other.headers["user-agent"] = `Trình duyệt ${"x".repeat(300)}`.replace(/[^\x20-\x7e]/g, "ì");
    await other.signIn(customer.email);
    const { data } = (await customer.get("/sessions")).body;
    t.strictSame(
      data.map((one: { current: boolean; remote_address: string }) => [
        one.current,
        one.remote_address,
      ]),
      [
        [false, "203.0.113.9"],
        [true, customer.headers["x-forwarded-for"]],
      ],
    );
    t.match(data[0].user_agent, /^Tr[\x20-\x7e]{198}$/);
    for (const time of [data[0].created_at, data[0].last_seen_at]) {
      t.equal(new Date(time).toISOString(), time);
    }
    t.equal((await customer.send("DELETE", `/sessions/${data[0].id}`)).status, 200);
    t.equal((await other.get("/me")).status, 401);
    t.equal((await customer.get("/me")).status, 200);
    for (const id of [data[0].id, "x", "'"]) {
      t.equal((await customer.send("DELETE", `/sessions/${id}`)).status, 404);
    }
  });

  t.test("end at sign-out, on one device or on all", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const [one, two] = [visitor(), visitor()];
    await one.signIn(customer.email);
    await two.signIn(customer.email);
    const before = one.cookie;
    const out = await one.post("/sign-out");
    t.match(out.headers.getSetCookie()[0] ?? "", /^tollgate_session=; .*Max-Age=0;/);
    one.cookie = before;
    t.equal((await one.get("/me")).status, 401);
    t.equal((await two.get("/me")).status, 200);
    t.equal((await two.post("/sign-out-everywhere")).status, 200);
    t.equal((await customer.get("/me")).status, 401);
  });

  t.test("are limited to fifty: a new one ends the oldest", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    const later = Array.from({ length: 50 }, () => visitor());
    for (const session of later) t.equal((await session.signIn(customer.email)).status, 200);
    t.equal((await customer.get("/me")).status, 401);
    t.equal((await later[0]!.get("/sessions")).body.data.length, 50);
  });

  t.test("end if the account is suspended, and no new one can start", async (t) => {
    const customer = await signedUp(gateway, mailServer);
    await suspend(gateway, customer.accountId);
    for (const answer of [await customer.get("/me"), await visitor().signIn(customer.email)]) {
      t.strictSame([answer.status, answer.code], [403, "account_suspended"]);
    }
    const wrong = await visitor().signIn(customer.email, "a wrong password");
    t.strictSame([wrong.status, wrong.code], [401, "wrong_credentials"]);
  });

  t.test("limit password guesses", async (t) => {
    t.test("five wrong passwords per address and account at once, then one a minute", async (t) => {
      const { email } = await signedUp(gateway, mailServer);
      const thief = visitor();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => thief.signIn(email, `wrong password ${n}`)),
      );
      t.equal(answers.filter(({ status }) => status === 401).length, 5);
      const refused = answers.filter(({ code }) => code === "too_many_attempts");
      t.equal(refused.length, 15);
      const waitS = Number(refused[0]?.headers.get("retry-after"));
      t.ok(waitS > 0 && waitS <= 60, `${waitS}`);
      // The right password has to wait too, but not from the owner's address.
      t.equal((await thief.signIn(email)).status, 429);
      t.equal((await visitor().signIn(email)).status, 200);
    });

    t.test("the same number for an address without an account", async (t) => {
      const [email, thief] = [newEmail(), visitor()];
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => thief.signIn(email, "a wrong password")),
      );
      t.equal(answers.filter(({ status }) => status === 401).length, 5);
    });

    t.test("right passwords do not count", async (t) => {
      const customer = await signedUp(gateway, mailServer);
      const session = visitor();
      for (let n = 0; n < 12; n++) {
        t.equal((await session.signIn(customer.email)).status, 200);
      }
    });

    t.test("a stolen session has the same limit", async (t) => {
      const customer = await signedUp(gateway, mailServer);
      const tries = Array.from({ length: 12 }, (_, n) =>
        customer.post("/password/change", { current: `wrong ${n}`, password: "a new password" }),
      );
      const answers = await Promise.all(tries);
      t.equal(answers.filter(({ code }) => code === "wrong_password").length, 5);
      t.equal(answers.filter(({ code }) => code === "too_many_attempts").length, 7);
    });

    t.test("a hundred per account from all addresses together", async (t) => {
      const { email } = await signedUp(gateway, mailServer);
      let guesses = 0;
      while ((await visitor().signIn(email, "a wrong password")).status === 401) guesses += 1;
      // One more is allowed every 36 seconds, however long this takes.
      t.ok(guesses >= 100 && guesses < 120, `${guesses}`);
    });

    t.test("which does not lock the owner out of a browser used before", async (t) => {
      const owner = await signedUp(gateway, mailServer);
      const { email } = owner;
      while ((await visitor().signIn(email, "a wrong password")).status === 401) {}
      t.equal((await visitor().signIn(email)).status, 429, "a new browser has to wait");
      t.equal((await owner.signIn(email)).status, 200);

      // A browser that is not known yet becomes so by a reset of the password.
      const elsewhere = visitor();
      await elsewhere.post("/password/forgot", { email });
      const token = tokenIn(await mailServer.mailTo(email, /reset#token=/));
      await elsewhere.post("/password/reset", { token, password: "a password of mine" });
      t.equal((await elsewhere.signIn(email, "a password of mine")).status, 200);
      // A browser is known for one account, not for all.
      const other = await signedUp(gateway, mailServer);
      other.device = owner.device;
      while ((await visitor().signIn(other.email, "a wrong password")).status === 401) {}
      t.equal((await other.signIn(other.email)).status, 429);
    });

    t.test(
      "and a token that another person has put into the browser does not know it",
      async (t) => {
        const thief = await signedUp(gateway, mailServer);
        const owner = await signedUp(gateway, mailServer);
        const browser = visitor();
        browser.device = thief.device;
        t.equal((await browser.signIn(owner.email)).status, 200);
        while ((await visitor().signIn(owner.email, "a wrong password")).status === 401) {}
        t.equal((await thief.signIn(owner.email)).status, 429);
        t.equal((await browser.signIn(owner.email)).status, 200);
      },
    );

    t.test("and two accounts in one browser know it both", async (t) => {
      const accounts = [await signedUp(gateway, mailServer), await signedUp(gateway, mailServer)];
      const browser = visitor();
      const isNew = async ({ email }: { email: string }) => {
        const { status, headers } = await browser.signIn(email);
        t.equal(status, 200);
        return headers.getSetCookie().some((cookie) => cookie.includes("tollgate_device="));
      };
      for (const account of accounts) t.equal(await isNew(account), true);
      for (const account of accounts) t.equal(await isNew(account), false);
      // Twice at once from a browser that only another account knows.
      const third = await signedUp(gateway, mailServer);
      const both = await Promise.all([isNew(third), isNew(third)]);
      t.ok(both.includes(true));
      t.equal(await isNew(third), false);
    });

    t.test("sixty attempts at once from one address, for any accounts", async (t) => {
      const thief = visitor();
      const answers = await Promise.all(
        Array.from({ length: 100 }, () =>
          thief.post("/verify", { token: "x".repeat(43), password: PASSWORD }),
        ),
      );
      const looked = answers.filter(({ status }) => status === 400).length;
      // One more is allowed every second, however long this takes.
      t.ok(looked >= 60 && looked < 100, `${looked}`);
    });
  });
});
