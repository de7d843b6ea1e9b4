import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startAccountsGateway } from "../../support/accounts.ts";
import { admin, createCustomer, credit } from "../../support/admin.ts";
import {
  BrowserSession,
  newEmail,
  ownAddress,
  PASSWORD,
  signedUp,
} from "../../support/browser-session.ts";
import { startMailServer, tokenIn } from "../../support/mail-server.ts";
import { reload } from "../../support/requests.ts";
import { runCli } from "../admin/cli-runs.ts";

t.test("an operator", async (t) => {
  const all = await startAccountsGateway();
  t.teardown(() => all.close());

  const visitor = () => {
    const session = new BrowserSession(all.gateway);
    session.headers = { "x-forwarded-for": ownAddress() };
    return session;
  };
  const command = async (...args: string[]) => {
    const { url, adminToken } = all.gateway;
    const result = await runCli([...args, "--json", "--url", url, "--token", adminToken]);
    return { ...result, json: result.stdout && JSON.parse(result.stdout) };
  };
  const models = async (key: string) =>
    (await fetch(`${all.gateway.url}/v1/models`, { headers: { "x-api-key": key } })).status;
  const mailTo = async (email: string, count: number) =>
    (await all.mailServer.mailsTo(email, count)).at(-1);

  t.test("sees how a customer signs in, ends the sessions, and notes why", async (t) => {
    const { gateway, mailServer } = all;
    const customer = await signedUp(gateway, mailServer);
    const named = ["--account", customer.email];
    const [session] = (await command("account", "sessions", ...named)).json.sessions;
    t.match(session, { remote_address: String, user_agent: String, seen_at: /Z$/ });
    const reason = ["--reason", "lost a laptop"];
    t.match((await command("account", "sign-out", ...named, ...reason)).json, { ended: 1 });
    t.equal((await customer.get("/me")).status, 401);
    t.strictSame((await command("account", "sessions", ...named)).json, {
      email_verified: true,
      has_password: true,
      second_factor: false,
      sessions: [],
    });
    t.match((await command("account", "note", ...named, ...reason)).json, {
      note: "lost a laptop",
    });
    const trail = (await command("actions", ...named, "--limit", "2")).json;
    t.match(trail, [
      { action: /notes$/, reason: "lost a laptop", account_id: customer.accountId },
      { action: /sessions\/end$/, reason: "lost a laptop" },
    ]);
  });

  t.test("changes the address of a customer, and tells both addresses", async (t) => {
    const { gateway, mailServer } = all;
    const customer = await signedUp(gateway, mailServer);
    const { key } = (await customer.post("/keys", { name: "laptop" })).body;
    await visitor().post("/password/forgot", { email: customer.email });
    const reset = tokenIn((await mailServer.mailsTo(customer.email, 3)).find(hasResetLink));
    const [to, taken] = [newEmail(), (await signedUp(gateway, mailServer)).email];
    const change = (address: string) =>
      command(
        ...["account", "email", "--account", customer.email],
        ...["--to", address, "--reason", "ticket 12"],
      );
    t.match((await change(taken)).stderr, /Another account has this email address/);
    t.equal((await customer.get("/me")).status, 200);
    const typed = ` ${to.toUpperCase()}`;
    t.strictSame((await change(typed)).json, {
      id: customer.accountId,
      email: to,
      email_before: customer.email,
    });
    for (const address of [customer.email, to]) {
      const mail = await mailTo(address, address === to ? 1 : 4);
      t.match(mail?.text, `${customer.email} → ${to}`);
      t.notMatch(mail?.text, "token=");
    }
    t.equal((await customer.get("/me")).status, 401, "the session has ended");
    const late = await visitor().post("/password/reset", { token: reset, password: PASSWORD });
    t.equal(late.code, "invalid_token", "a link to the old address");
    t.equal((await visitor().signIn(customer.email)).status, 401);
    t.equal((await visitor().signIn(to)).status, 200);
    t.equal(await models(key), 200, "keys stay");
    const trail = await command("actions", "--account", to, "--limit", "1");
    t.match(trail.json, [
      { account_id: customer.accountId, reason: "ticket 12", details: { to: typed } },
    ]);

    // A customer who mistyped the address at the sign-up gets the link that verifies it.
    const [typo, right] = [newEmail(), newEmail()];
    await visitor().post("/sign-up", { email: typo, password: PASSWORD });
    await mailServer.mailsTo(typo);
    await command(
      ...["account", "email", "--account", typo, "--to", right, "--reason", "mistyped"],
    );
    const links = (await mailServer.mailsTo(right, 2)).filter(({ text }) =>
      text?.includes("#token="),
    );
    const verified = await visitor().post("/verify", {
      token: tokenIn(links[0]),
      password: PASSWORD,
    });
    t.equal(verified.status, 200, verified.text);
    t.equal((await mailServer.mailsTo(typo)).length, 1, "a stranger learns no address");
  });

  t.test("corrects the address of one who has no password yet: the link comes there", async (t) => {
    const { gateway, mailServer } = all;
    const [typo, right, early] = [newEmail(), newEmail(), newEmail()];
    const move = (account: string, to: string) =>
      command("account", "email", "--account", account, "--to", to, "--reason", "mistyped");
    await admin(gateway, "POST", "/accounts", { email: typo });
    await command("account", "welcome", "--account", typo);
    const lost = tokenIn((await mailServer.mailsTo(typo))[0]);
    t.equal((await move(typo, right)).code, 0);
    const [mail] = await mailServer.mailsTo(right);
    t.match(mail?.subject, /Your account is ready/);
    const set = (token: string) => visitor().post("/password/reset", { token, password: PASSWORD });
    t.equal((await set(lost)).code, "invalid_token");
    t.equal((await set(tokenIn(mail))).status, 200);
    t.equal((await visitor().signIn(right)).status, 200);
    // One who was not welcomed yet is not by this.
    await admin(gateway, "POST", "/accounts", { email: early });
    t.equal((await move(early, newEmail())).code, 0);
    const sentTo = (email: string) =>
      mailServer.mails.filter(({ to }) => JSON.stringify(to).includes(email)).length;
    t.strictSame([typo, right, early].map(sentTo), [1, 2, 0]);
  });

  t.test(
    "cannot give a customer the address of another, but the other's can change first",
    async (t) => {
      const { gateway, mailServer } = all;
      const [customer, second] = [
        await signedUp(gateway, mailServer),
        await signedUp(gateway, mailServer),
      ];
      const move = (account: string, to: string) =>
        command("account", "email", "--account", account, "--to", to, "--reason", "ticket 16");
      const refused = await move(customer.email, second.email);
      t.not(refused.code, 0);
      t.match(refused.stderr, `account email --account ${second.email} --to OTHER`);
      t.equal((await move(second.email, newEmail())).code, 0);
      t.equal((await move(customer.email, second.email)).code, 0);
    },
  );

  t.test("makes as many keys for a customer as he can make himself", async (t) => {
    await reload(all.gateway, { plugins: { accounts: { active_keys_max: 1 } } });
    const { accountId } = await createCustomer(all.gateway);
    const made = await admin(all.gateway, "POST", `/accounts/${accountId}/keys`, { name: "two" });
    t.match(made, { status: 409, body: { error: { message: /has 1 active keys, the maximum/ } } });
    await reload(all.gateway, { plugins: { accounts: { active_keys_max: 10 } } });
  });

  t.test("closes an account, whose balance stays, and opens it again", async (t) => {
    const { gateway, mailServer } = all;
    const customer = await signedUp(gateway, mailServer);
    const { accountId, email } = customer;
    await credit(gateway, accountId, 50_000);
    const { key } = (await customer.post("/keys", { name: "laptop" })).body;
    t.equal(await models(key), 200);
    const close = () => command("account", "close", "--account", email, "--reason", "leaves");
    const closed = {
      ...{ id: accountId, email, status: "closed", revoked_keys: 1 },
      ...{ balance_vnd: "50000", held_vnd: "0", available_vnd: "50000", pending_vnd: "0" },
    };
    t.strictSame((await close()).json, closed);
    t.strictSame((await close()).json, { ...closed, revoked_keys: 0 });
    t.equal(await models(key), 401);
    t.equal((await customer.get("/me")).status, 401);
    const refused = await visitor().signIn(email);
    t.strictSame([refused.status, refused.code], [403, "account_closed"]);
    t.equal((await visitor().signIn(email, "a wrong password")).code, "wrong_credentials");
    t.match((await command("account", "show", "--account", email)).json, { status: "closed" });
    await mailServer.mailTo(email, /50000 đ/);
    const mails = await mailServer.mailsTo(email, 3);
    t.strictSame(
      mails.filter(({ text }) => text?.includes("50000 đ")).map(({ subject }) => subject),
      ["Tài khoản của bạn đã được đóng / Your account was closed"],
    );

    await admin(gateway, "POST", `/accounts/${accountId}/resume`, { reason: "is back" });
    const back = visitor();
    t.equal((await back.signIn(email)).status, 200);
    t.equal(await models(key), 401, "its keys stay revoked");
    t.equal((await back.post("/keys", { name: "new" })).status, 201);
  });

  t.test("imports accounts from a file, each with its credit and a mail, once", async (t) => {
    const { gateway, mailServer } = all;
    const there = await signedUp(gateway, mailServer);
    const [an, binh] = [newEmail(), newEmail()];
    const file = join(t.testdir(), "team.csv");
    const run = async (rows: readonly string[], ...flags: string[]) => {
      writeFileSync(file, ["\ufeffemail;credit;note", ...rows, ""].join("\r\n"));
      return command("account", "import", "--file", file, "--reference", "team 12", ...flags);
    };
    const rows = [
      `${an.toUpperCase()};50000;"Khóa 12; nhóm ""A"""`,
      `${there.email};1000;`,
      `${an};7;`,
      ...["", `${binh};;`],
    ];
    const shown = ({ json }: { json: { rows: Record<string, unknown>[] } }) =>
      json.rows.map(({ line, account, credit, mail }) => [line, account, credit, mail].join(" "));
    const balances = async () => {
      const wallets = [an, there.email].map((email) => command("wallet", "--account", email));
      return (await Promise.all(wallets)).map(({ json }) => json["balance_vnd"]);
    };

    const dry = await run(rows, "--dry-run");
    t.strictSame(shown(dry), [
      "2 created credited queued",
      "3 exists credited queued if there is no password",
      "4 repeated  ",
      "6 created  queued",
    ]);
    const large = await run([`${an};4000000;`, `${binh};1000001;`]);
    t.equal(large.code, 2);
    t.match(large.stderr, /^Credit up to 5,000,001 đ to 2 accounts\? Nothing .* add --yes\.$/m);
    t.strictSame((await command("account", "find", "--query", an)).json, []);
    const first = await run(rows);
    t.strictSame(shown(first), [
      "2 created credited queued",
      "3 exists credited has_password",
      "4 repeated  ",
      "6 created  queued",
    ]);
    const { rows: _, ...counts } = first.json;
    t.strictSame(counts, { created: 2, credited: 2, mails: 2, failed: 0 });
    t.strictSame(await balances(), ["50000", "1000"]);
    const { json: statement } = await command("ledger", "--account", an);
    t.match(statement.rows, [{ reason: 'Khóa 12; nhóm "A"', amount_vnd: "50000" }]);

    const [mail] = await mailServer.mailsTo(an);
    t.match(mail?.subject, /Your account is ready/);
    const reset = { token: tokenIn(mail), password: PASSWORD };
    t.equal((await visitor().post("/password/reset", reset)).status, 200);
    t.equal((await visitor().signIn(an)).status, 200);
    await mailServer.mailsTo(binh);

    t.match(shown(await run(rows, "--dry-run"))[0], "2 exists credited before");
    // Another amount is refused, and stops no other row.
    const again = await run([rows[0]?.replace("50000", "60000") ?? "", ...rows.slice(1)]);
    t.equal(again.code, 1);
    t.match(again.json.rows[0].problem, /used for another account or amount/);
    t.strictSame(shown(again).slice(1), [
      "3 exists credited before has_password",
      "4 repeated  ",
      "6 exists  sent_before",
    ]);
    t.strictSame(await balances(), ["50000", "1000"]);

    // A mail that was lost is sent again when the operator asks for it.
    const welcome = async (email: string, ...flags: string[]) =>
      (await command("account", "welcome", "--account", email, ...flags)).json.mail;
    t.equal(await welcome(binh), "sent_before");
    t.equal(await welcome(binh, "--again"), "queued");
    t.equal(await welcome(an, "--again"), "has_password");
    await mailServer.mailsTo(binh, 2);

    // A wrong line changes nothing.
    const unknown = newEmail();
    const wrong = await run([`${unknown};1;`, "nobody;1;", `${unknown};50.000;`, "a@b.vn;1;2;3"]);
    t.equal(wrong.code, 2);
    t.match(wrong.stderr, /3 of 4 rows are wrong; nothing was changed/);
    for (const line of [/line 3: "nobody" is no/, /line 4: write|line 4: 50.000/, /line 5: more/]) {
      t.match(wrong.stderr, line);
    }
    t.strictSame((await command("account", "find", "--query", unknown)).json, []);
  });

  // It stops the mail server, so it is last.
  t.test("changes an address while the mail server is down: both get its mail later", async (t) => {
    const { gateway, mailServer } = all;
    const { email } = await signedUp(gateway, mailServer);
    const to = newEmail();
    await mailServer.stop();
    const change = ["account", "email", "--account", email, "--to", to, "--reason", "ticket 17"];
    t.equal((await command(...change)).code, 0);
    await gateway.kill9();
    const later = await startMailServer(undefined, mailServer.port);
    t.teardown(() => later.stop());
    await gateway.start();
    const { body } = await admin(gateway, "GET", "/messages?state=waiting&kind=email-changed");
    for (const { id } of body["list"] as { id: string }[]) {
      await admin(gateway, "POST", `/messages/${id}/retry`, {});
    }
    for (const address of [email, to]) {
      t.match((await later.mailsTo(address))[0]?.text, `${email} → ${to}`);
    }
  });
});

function hasResetLink({ text }: { readonly text?: string | undefined }): boolean {
  return text?.includes("/dashboard/reset#token=") ?? false;
}
