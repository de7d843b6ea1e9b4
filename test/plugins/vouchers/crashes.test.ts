import assert from "node:assert/strict";
import postgresClient from "postgres";
import t from "tap";
import type { Failpoint } from "../../../core/process/failpoint.ts";
import { voucherHash } from "../../../plugins/vouchers/code.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { ArmedGateway } from "../../support/armed.ts";
import type { GatewayOptions, TestGateway } from "../../support/gateway.ts";
import { type Production, startProduction } from "../../support/production.ts";
import { assertReconciled } from "../../support/proof.ts";
import { until } from "../../support/until.ts";
import { as, topupPlugins } from "../topup/topups.ts";

const ANY = 10_000;

t.test("vouchers in two gateways on one Redis and one Postgres", async (t) => {
  let production: Production;
  let sql: ReturnType<typeof postgresClient>;
  let one: TestGateway;
  let other: TestGateway;
  let options: GatewayOptions;
  t.before(async () => {
    const attempts = { account_attempts_per_minute: ANY, address_attempts_per_minute: ANY };
    const plugins = { ...topupPlugins(), vouchers: attempts };
    production = await startProduction({ plugins });
    [one, other] = production.gateways as [TestGateway, TestGateway];
    const { redis, postgres, simulator } = production;
    options = { config: { stores: { hot: redis.url, ledger: postgres.url } }, plugins, simulator };
    sql = postgresClient(postgres.url, { max: 1 });
  });
  t.teardown(async () => {
    await sql?.end();
    await production?.close();
  });

  async function codesOf(changes: object): Promise<string[]> {
    const wanted = { amount_vnd: "50000", until: "2099-12-31", note: "test", ...changes };
    const { body } = await admin(one, "POST", "/vouchers", wanted);
    return (body["list"] as { code: string }[]).map(({ code }) => code);
  }
  const redeem = (gateway: TestGateway, accountId: string, code: string) =>
    as(gateway, accountId, "POST", "/vouchers", { code });

  /** Who the ledger has credited with a code, and who is marked as credited. */
  async function ownersOf(code: string): Promise<{ credited: string[]; marked: string[] }> {
    const hash = voucherHash(code)?.toString("hex") ?? "";
    const prefix = `voucher:${hash.slice(0, 32)}:`;
    const rows =
      await sql`select account_id from ledger_entries where starts_with(reference, ${prefix}) order by 1`;
    const marks = await sql`select account_id from vouchers_redemptions
      where code = decode(${hash}, 'hex') and credited_at is not null order by 1`;
    const ids = (found: readonly Record<string, unknown>[]) =>
      found.map((row) => String(row["account_id"]));
    return { credited: ids(rows), marked: ids(marks) };
  }

  const STEPS: readonly Failpoint[] = [
    "voucher.claimed",
    "credit.committed",
    "voucher.credited",
    "voucher.marked",
  ];
  for (const point of STEPS) {
    t.test(`a kill at ${point} neither loses nor doubles a voucher`, async (t) => {
      const [code = ""] = await codesOf({});
      const { accountId } = await createCustomer(other);
      const armed = await ArmedGateway.start(point, options);
      try {
        await t.rejects(redeem(armed.gateway, accountId, code), "the customer gets no reply");
        await armed.died();
      } finally {
        await armed.gateway.close();
      }
      // A sweep of the running gateways finishes it, without the customer.
      await until("it is marked", async () => (await ownersOf(code)).marked.length === 1);
      t.equal((await wallet(other, accountId)).available, "50000");
      for (const { status, body } of await Promise.all(
        [one, other].map((gateway) => redeem(gateway, accountId, code)),
      )) {
        t.strictSame([status, body["applied"], body["balance_vnd"]], [200, false, "50000"]);
      }
      t.strictSame(await ownersOf(code), { credited: [accountId], marked: [accountId] });
    });
  }

  t.test(
    "of 200 redemptions at once from both, a code's uses are credited, each once",
    async (t) => {
      const customers: string[] = [];
      while (customers.length < 20) customers.push((await createCustomer(one)).accountId);
      for (const uses of [1, 3]) {
        const [code = ""] = await codesOf({ uses });
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) =>
            redeem(n % 2 ? one : other, customers[n % 20] ?? "", code),
          ),
        );
        const { credited, marked } = await ownersOf(code);
        t.equal(credited.length, uses);
        t.strictSame(marked, credited);
        t.equal(answers.filter(({ body }) => body["applied"] === true).length, uses);
        t.equal(answers.filter(({ status }) => status === 404).length, 200 - 10 * uses);
      }
    },
  );

  t.test("of many codes at once, a customer gets one of a batch that gives one", async (t) => {
    const codes = await codesOf({ count: 20, once_per_customer: true });
    const { accountId } = await createCustomer(one);
    const answers = await Promise.all(
      codes.map((code, n) => redeem(n % 2 ? one : other, accountId, code)),
    );
    t.equal(answers.filter(({ status }) => status === 200).length, 1);
    t.equal(answers.filter(({ status }) => status === 409).length, 19);
    t.equal((await wallet(other, accountId)).available, "50000");
  });

  t.test("in the end all books agree", async () => {
    await assertReconciled(other);
    const [row] = await sql`select count(*)::integer as pending from vouchers_redemptions
      where credited_at is null`;
    assert.equal(row?.["pending"], 0);
  });
});
