import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { codeAt } from "../../../plugins/sign-in-parts/totp.ts";
import { MAIL_FROM } from "../../support/accounts.ts";
import { BrowserSession, ownAddress, PASSWORD, signedUp } from "../../support/browser-session.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { startMailServer, type TestMailServer, tokenIn } from "../../support/mail-server.ts";
import { type Production, startProduction } from "../../support/production.ts";

const CHANGED_PASSWORD = "mật khẩu đã đổi";

t.test("two gateways on one Redis and Postgres", async (t) => {
  let production: Production;
  let mailServer: TestMailServer;
  let gateways: [TestGateway, TestGateway];
  let sql: Sql;
  const master = randomBytes(32).toString("base64");
  t.before(async () => {
    mailServer = await startMailServer();
    const smtp = { host: "127.0.0.1", port: mailServer.port, from: MAIL_FROM };
    const accounts = { master_keys: [{ id: "1", key: master }] };
    production = await startProduction({ plugins: { accounts, messages: { smtp } } });
    gateways = production.gateways as [TestGateway, TestGateway];
    const { log } = recordedLog();
    const server = { url: production.postgres.url };
    sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 30_000, log });
  });
  t.teardown(async () => {
    await sql.end(1);
    await production.close();
    await mailServer.stop();
  });

  t.test("share sessions, keys and the limits on attempts", async (t) => {
    const [one, two] = gateways;
    const customer = await signedUp(one, mailServer);
    const { body } = await customer.post("/keys", { name: "shared" });
    const there = Object.assign(new BrowserSession(two), {
      cookie: customer.cookie,
      csrfToken: customer.csrfToken,
    });
    t.equal((await there.post(`/keys/${body.id}/reveal`)).body.key, body.key);
    const thieves = gateways.map((gateway) => new BrowserSession(gateway));
    const headers = { "x-forwarded-for": ownAddress() };
    for (const thief of thieves) thief.headers = headers;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        thieves[n % 2]!.signIn(customer.email, "wrong password"),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 401).length, 5);
    await there.post("/sign-out");
    t.equal((await customer.get("/me")).status, 401);
  });

  t.test("store no secret in clear text in any table, log or file", async (t) => {
    const [gateway] = gateways;
    const customer = await signedUp(gateway, mailServer);
    const key = (await customer.post("/keys", { name: "secret" })).body;
    await customer.post(`/keys/${key.id}/reveal`);
    const factor = (await customer.post("/second-factor", { current: PASSWORD })).body;
    const code = codeAt(factor.secret, Math.floor(Date.now() / 30_000));
    const on = (await customer.post("/second-factor/confirm", { code })).body;
    await customer.post("/password/change", { current: PASSWORD, password: CHANGED_PASSWORD });
    await customer.signIn(customer.email, "a guess that is wrong");
    await customer.post("/password/forgot", { email: customer.email });
    const mails = await mailServer.mailsTo(customer.email, 6);
    const secrets = [
      PASSWORD,
      CHANGED_PASSWORD,
      "a guess that is wrong",
      key.key,
      factor.secret,
      ...on.recovery_codes.slice(0, 1),
      ...on.recovery_codes.slice(0, 1).map((text: string) => text.replaceAll("-", "")),
      master,
      customer.cookie?.split("=")[1] ?? "",
      customer.csrfToken ?? "",
      ...mails.filter(({ text }) => text?.includes("#token=")).map(tokenIn),
    ];
    t.equal(secrets.length, 12);
    const places = new Map<string, string>();
    const tables = await sql.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    t.ok(tables.length >= 12);
    for (const { name } of tables) {
      // Postgres prints bytea as hexadecimal.
      const rows = await sql.query<{ row: string }>(`select t::text as row from ${name} t`);
      places.set(name, rows.map(({ row }) => row).join("\n"));
    }
    for (const { logs, data, pid } of gateways) {
      places.set(`log of ${pid}`, logs);
      for (const file of readdirSync(data, { recursive: true, encoding: "utf8" })) {
        const path = join(data, file);
        if (statSync(path).isFile()) places.set(path, readFileSync(path, "latin1"));
      }
    }
    // Proves that the search finds a text that is there.
    t.ok(places.get("api_keys")?.includes(key.prefix));
    t.ok(places.get("accounts")?.includes(customer.email));
    for (const secret of secrets) {
      t.ok(secret.length >= 10);
      for (const form of formsOf(secret)) {
        for (const [place, text] of places) {
          t.ok(!text.includes(form), `${secret} is in ${place}`);
        }
      }
    }
  });

  t.test(
    "refuse a start that lacks the master key of stored secrets, until it is given up",
    async (t) => {
      const [gateway] = gateways;
      const customer = await signedUp(gateway, mailServer);
      const { id } = (await customer.post("/keys", { name: "sealed" })).body;
      const other = { id: "2", key: randomBytes(32).toString("base64") };
      const known = () =>
        sql.query<{ id: string }>("select id from account_master_keys order by id");
      gateway.configure({ plugins: { accounts: { master_keys: [other] } } });
      await gateway.stop();
      await t.rejects(gateway.start(), /master_keys lacks "1", which seals keys in this ledger/);
      t.strictSame(await known(), [{ id: "1" }], "a start that was refused writes no check");
      await sql.script("delete from account_master_keys where id = '1'");
      await gateway.start();
      t.strictSame(await known(), [{ id: "2" }]);
      t.equal((await customer.post(`/keys/${id}/reveal`)).code, "key_not_recoverable");
    },
  );
});

/** Every form in which a text may be stored: as it is, as JSON, in hexadecimal, in base64. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    encodeURIComponent(secret),
    bytes.toString("hex"),
    bytes.toString("base64"),
  ];
  return [...forms, bytes.toString("latin1")];
}
