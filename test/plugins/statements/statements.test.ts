import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { verifyStatement } from "../../../plugins/statements/verify.ts";
import { admin, credit } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { type BrowserSession, signedUp } from "../../support/browser-session.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

type Customer = Awaited<ReturnType<typeof signedUp>>;

const SELLER = { name: "Công ty Cổng", tax_code: "0100109106", address: "1 Đường A, Hà Nội" };
const BUYER = { name: "Công ty Khách", tax_code: "0100112437-001", address: "2 Đường B, Huế" };
const LATER = { name: "Công ty Khác", tax_code: "0100109106", address: "3 Đường C, Vinh" };
const MAILED = /^Sao kê tháng|^Statement of/;

/** Such as `2026-10`. */
function monthsAgo(months: number): string {
  const now = new Date(Date.now() + 7 * 3_600_000);
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months));
  return first.toISOString().slice(0, 7);
}

t.test("statements of months that are over", async (t) => {
  const postgres = await startPostgres();
  const redis = await startRedisServer();
  const mailServer: TestMailServer = await startMailServer();
  const { log } = recordedLog();
  const server = { url: postgres.url };
  const sql: Sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 30_000, log });
  const settings = {
    config: { stores: { ledger: postgres.url, hot: redis.url } },
    plugins: {
      messages: {
        smtp: { host: "127.0.0.1", port: mailServer.port, from: "no-reply@tollgate.test" },
      },
      statements: { seller: SELLER, vat_percent: { "2025-07": 8, [monthsAgo(1)]: 10 } },
    },
  };
  const gateways: TestGateway[] = [await startGateway(settings), await startGateway(settings)];
  const [gateway] = gateways;
  assert.ok(gateway);
  const customers: Customer[] = [];
  t.teardown(async () => {
    await sql.end(1);
    for (const one of gateways) await one.close();
    await redis.stop();
    await postgres.stop();
    await mailServer.stop();
  });

  async function call(session: BrowserSession, model: string): Promise<void> {
    const { key, id } = (await session.post("/keys", { name: model })).body;
    const body = { model, messages: [{ role: "user", content: prompt({ output_tokens: 7 }) }] };
    const response = await fetch(`${gateway?.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.text());
    await session.send("DELETE", `/keys/${id}`);
  }

  /** Lets all that was committed so far have been committed some months ago. */
  async function age(months: number): Promise<void> {
    await until("calls are committed", async () => {
      const [row] = await sql.query<{ open: boolean }>(
        `select exists (select from usage_records) and count(*) = count(entry.id) as open
        from usage_records left join ledger_entries entry using (call_id)`,
      );
      return row?.open ?? false;
    });
    await sql.script(`
      set session_replication_role = replica;
      update ledger_entries set at = date_trunc('month', now(), 'Asia/Ho_Chi_Minh')
          - interval '${months} months' + interval '9 days'
        where at > now() - interval '1 day';
      reset session_replication_role`);
  }

  async function restart(): Promise<void> {
    await Promise.all(gateways.map((one) => one.stop()));
    await Promise.all(gateways.map((one) => one.start()));
  }

  const closed = async ({ accountId }: Customer) => {
    const { body } = await admin(gateway, "GET", `/accounts/${accountId}/statement`);
    return body["list"] as { month: string; digest: string; previous_digest: string | null }[];
  };
  const mailsOf = ({ email }: Customer) =>
    mailServer.mails.filter(
      ({ to, subject }) => JSON.stringify(to).includes(email) && MAILED.test(subject ?? ""),
    );
  const fileOf = async (session: BrowserSession, name: string) => {
    const { status, text } = await session.get(`/statements/${name}`);
    assert.equal(status, 200, text);
    return text;
  };

  t.test("are closed once by two gateways, and mailed once each", async (t) => {
    for (let n = 0; n < 3; n++) customers.push(await signedUp(gateway, mailServer));
    const [first, second, quiet] = customers;
    assert.ok(first && second && quiet);
    await quiet.post("/messages", { off: ["statement"] });
    await second.post("/statements", { buyer: BUYER });
    for (const months of [2, 1]) {
      for (const customer of customers) {
        await credit(gateway, customer.accountId, 100_000);
        await call(customer, "gpt-5.6-sol");
        await call(customer, "claude-opus-5-5");
      }
      const correction = {
        amount_vnd: "-77.5",
        reference: `twice-${months}`,
        reason: "=Credited twice",
      };
      await admin(gateway, "POST", `/accounts/${first.accountId}/adjustments`, correction);
      await age(months);
    }
    mailServer.refusals.push(450);
    await restart();
    const said = () => gateways.map(({ logs }) => logs.slice(-2_000)).join("\n");
    await until(
      () => `both customers have a mail; ${said()}`,
      () => [first, second].every((one) => mailsOf(one).length > 0),
    );
    await restart();
    await until("the second look has ended", async () => (await closed(quiet)).length === 2);
    for (const customer of [first, second]) {
      const [newest, oldest] = await closed(customer);
      assert.ok(newest && oldest);
      t.equal(oldest.previous_digest, null);
      t.equal(newest.previous_digest, oldest.digest);
      const [mail, ...more] = mailsOf(customer);
      t.strictSame(more, []);
      t.ok(mail?.text?.includes(newest.digest) && mail.text.includes(oldest.digest));
      t.match(mail?.text, new RegExp(`/dashboard/statements\\?month=${newest.month}`));
      t.match(mail?.subject, /^Sao kê tháng/);
    }
    t.strictSame(mailsOf(quiet), []);
  });

  t.test("are files whose digest is that of the mail", async (t) => {
    const [first] = customers;
    assert.ok(first);
    const [newest, oldest] = await closed(first);
    assert.ok(newest && oldest);
    const given = { digest: newest.digest, previous: oldest.digest };
    const csv = await fileOf(first, `${newest.month}.csv`);
    const { cookie = "" } = first;
    const address = `${gateway.url}/account/v1/statements/${newest.month}.csv`;
    // As a text it would lack its byte order mark.
    const file = await (await fetch(address, { headers: { cookie } })).arrayBuffer();
    const hash = createHash("sha256").update(Buffer.from(file)).digest("hex");
    t.equal(hash, newest.digest, "as sha256sum prints it");
    const names = [`${newest.month}.csv?decimal=comma`, `${newest.month}.json`, newest.month];
    for (const text of [csv, ...(await Promise.all(names.map((name) => fileOf(first, name))))])
      t.strictSame(verifyStatement(text, given).problems, []);
    t.match(csv, /,adjustment,,,-77\.5,.*,'=Credited twice/);
  });

  t.test("have the sums of the usage records, and what a VAT invoice needs", async (t) => {
    const [first, second] = customers;
    assert.ok(first && second);
    await first.post("/statements", { buyer: BUYER });
    const [newest] = await closed(first);
    const statement = JSON.parse(await fileOf(first, `${newest?.month}.json`));
    const [charged] = await sql.query<{ calls: number; sum: string }>(
      `select count(*)::float8 as calls, (sum(-charged) / 2 / 1000000.0)::text as sum
      from usage_records where account_id = $1`,
      [first.accountId],
    );
    const charges = statement.rows.filter(({ kind }: { kind: string }) => kind === "charges");
    t.strictSame(
      charges.map(({ model, calls }: { model: string; calls: number }) => [model, calls]),
      [
        ["claude-opus-5-5", 1],
        ["gpt-5.6-sol", 1],
      ],
    );
    t.equal(charged?.calls, 4);
    t.equal(Number(statement.totals.charges_vnd), Number(charged?.sum));
    t.equal(statement.totals.adjustments_vnd, "-77.5");
    const { invoice } = statement;
    t.strictSame([invoice.seller, invoice.buyer, invoice.vat_percent], [SELLER, BUYER, 10]);
    const total = Math.round(-Number(charged?.sum));
    t.equal(invoice.total_vnd, String(total));
    t.equal(invoice.net_vnd, String(Math.round(total / 1.1)));
    t.equal(Number(invoice.net_vnd) + Number(invoice.vat_vnd), total);
    const wrong = { ...BUYER, tax_code: "0100112438" };
    t.equal((await first.post("/statements", { buyer: wrong })).status, 400);
    t.strictSame((await second.get("/statements")).body.buyer, BUYER);
  });

  t.test("keep the parties and the VAT of the time when they were closed", async (t) => {
    const [first, second] = customers;
    assert.ok(first && second);
    const plugins = { ...settings.plugins, statements: { seller: LATER, vat_percent: 5 } };
    const later = await startGateway({ ...settings, plugins });
    t.teardown(() => later.close());
    await second.post("/statements", { buyer: LATER });
    for (const [customer, buyer] of [
      [second, BUYER],
      // Entered after they were closed, when they had none.
      [first, BUYER],
    ] as const) {
      for (const [months, percent] of [
        [2, 8],
        [1, 10],
      ] as const) {
        const path = `/accounts/${customer.accountId}/statement?month=${monthsAgo(months)}`;
        const { invoice } = (await admin(later, "GET", path)).body;
        t.match(invoice, { seller: SELLER, buyer, vat_percent: percent });
      }
    }
  });

  t.test("are shown to their own customer and to operators only", async (t) => {
    const [first, second] = customers;
    assert.ok(first && second);
    const [newest] = await closed(first);
    const own = await fileOf(first, `${newest?.month}.json`);
    const other = await fileOf(second, `${newest?.month}.json`);
    t.not(JSON.parse(own).account_id, JSON.parse(other).account_id);
    const stranger = await fetch(`${gateway.url}/account/v1/statements/${newest?.month}`);
    t.equal(stranger.status, 401);
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const month = ["--month", newest?.month ?? ""];
    const shown = await runCli(["statement", "--account", first.email, ...month, "--json"], {
      env,
    });
    t.strictSame(verifyStatement(shown.stdout, { digest: newest?.digest }).problems, []);
    for (const [name, code] of [
      ["2026-01", "no_statement"],
      ["2099-01", "month_not_over"],
    ] as const) {
      const answer = await first.get(`/statements/${name}`);
      t.strictSame([answer.status, answer.code], [404, code]);
    }
    t.equal((await first.get("/statements/1.csv")).status, 404);
    const list = await runCli(["statement", "invoices", ...month, "--json"], { env });
    const invoices: Record<string, unknown>[] = JSON.parse(list.stdout);
    t.equal(new Set(invoices.map(({ account }) => account)).size, invoices.length);
    for (const [customer, text] of [
      [first, own],
      [second, other],
    ] as const) {
      const { seller: _, buyer, ...amounts } = JSON.parse(text).invoice;
      const row = invoices.find(({ email }) => email === customer.email);
      t.match(row, { account: customer.accountId, month: newest?.month, ...amounts });
      t.equal(row?.["buyer_tax_code"], buyer?.tax_code ?? null);
    }
    t.ok(invoices.some(({ total_vnd }) => Number(total_vnd) > 0));
  });

  t.test(
    "are not closed for a customer whose ledger was changed, but for all others",
    async (t) => {
      const [wrong, right] = [
        await signedUp(gateway, mailServer),
        await signedUp(gateway, mailServer),
      ];
      for (const { accountId } of [wrong, right]) await credit(gateway, accountId, 5_000);
      await age(1);
      const change = (by: number) =>
        sql.script(`set session_replication_role = replica;
        update ledger_entries set balance_after = balance_after + ${by} where account_id = '${wrong.accountId}';
        reset session_replication_role`);
      const failing = async () => {
        const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
        return /^tollgate_statements_failing(?:\{[^}]*\})? (\d+)$/m.exec(metrics)?.[1];
      };
      await change(1);
      await restart();
      await until("the failure is in the metrics", async () => (await failing()) === "1");
      t.strictSame([(await closed(wrong)).length, (await closed(right)).length], [0, 1]);
      await until("it is in the log", () => gateway.logs.includes("cannot close a statement"));
      await change(-1);
      await restart();
      await until("it is closed", async () => (await closed(wrong)).length === 1);
    },
  );

  t.test("that were changed in the database are found by the mails", async (t) => {
    const [first] = customers;
    assert.ok(first);
    const [newest, oldest] = await closed(first);
    assert.ok(newest && oldest);
    const change = (statement: string) =>
      sql.script(
        `set session_replication_role = replica; ${statement}; reset session_replication_role`,
      );
    const where = `where account_id = '${first.accountId}' and number`;
    const given = { digest: newest.digest, previous: oldest.digest };
    await change(`update statement_rows set amount = amount - 1 ${where} = 2 and kind = 'topup'`);
    const wrong = verifyStatement(await fileOf(first, `${newest.month}.csv`), given);
    t.match(wrong.problems.join("\n"), /the closing balance is .*\n.*changed after the mail/);
    await change(`update statement_rows set amount = amount + 1 ${where} = 2 and kind = 'topup'`);
    await change(
      `update statement_rows set reason = 'another' ${where} = 2 and kind = 'adjustment'`,
    );
    const text = verifyStatement(await fileOf(first, `${newest.month}.json`), {
      digest: newest.digest,
    });
    t.match(text.problems.join("\n"), /its sums are right, so a text, a day, or several amounts/);
    await change(
      `update statement_rows set reason = '=Credited twice' ${where} = 2 and kind = 'adjustment'`,
    );
    // The whole chain written again, with digests to match: only mails tell.
    await change(`update statement_months set previous_digest = '${"0".repeat(64)}' ${where} = 2`);
    const chain = verifyStatement(await fileOf(first, `${newest.month}.csv`), {
      previous: oldest.digest,
    });
    t.match(chain.problems[0], /a statement between them or before was changed/);
  });
});
