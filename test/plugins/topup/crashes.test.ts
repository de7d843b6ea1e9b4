import postgresClient from "postgres";
import t from "tap";
import type { Failpoint } from "../../../core/process/failpoint.ts";
import { admin, type Customer, createCustomer, wallet } from "../../support/admin.ts";
import { ArmedGateway } from "../../support/armed.ts";
import type { GatewayOptions, TestGateway } from "../../support/gateway.ts";
import { type Production, startProduction } from "../../support/production.ts";
import { assertReconciled } from "../../support/proof.ts";
import { type Answer, bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { as, notify, order, topupPlugins, transfer } from "./topups.ts";

/** For transfers that are larger than those of the other tests. */
const BONUSES = [
  {
    ...{ name: "tet", title: "Tết", first_day: "2026-11-01", last_day: "2026-11-30" },
    ...{ percent: 10, minimum_vnd: 300_000, bonus_max_vnd: 40_000, applies: "once_per_customer" },
  },
];
const OK = { status: 200, body: { success: true } };

t.test("top-ups in two gateways on one Redis and one Postgres", async (t) => {
  let production: Production;
  let sql: ReturnType<typeof postgresClient>;
  let one: TestGateway;
  let other: TestGateway;
  let options: GatewayOptions;
  t.before(async () => {
    const plugins = topupPlugins({ promotions: { counted: "all", bonuses: BONUSES } });
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

  const call = (gateway: TestGateway, caller: Customer): Promise<Answer> =>
    post(gateway, paths.messages, caller, bodies.messages({ output_tokens: 1 }));

  async function creditsOf(id: unknown): Promise<number> {
    const rows = await sql`select amount from ledger_entries where reference = ${`transfer:${id}`}`;
    return rows.length;
  }

  const stateOf = async (id: unknown) =>
    (await admin(other, "GET", `/transfers/${id}`)).body["state"];

  /**
   * A gateway is killed between two steps; `isKept` is true if the notification was stored by then.
   */
  const STEPS: readonly (readonly [Failpoint, isKept: boolean])[] = [
    ["topup.notified", false],
    ["topup.recorded", true],
    ["credit.committed", true],
    ["credit.applied", true],
    ["topup.credited", true],
    ["topup.marked", true],
  ];

  for (const [point, isKept] of STEPS) {
    t.test(`a kill at ${point} neither loses nor doubles a transfer`, async (t) => {
      const { accountId } = await createCustomer(other);
      const mine = await order(other, accountId);
      const told = transfer({ content: mine.code });
      const armed = await ArmedGateway.start(point, options);
      await t.rejects(notify(armed.gateway, told), "the bank gets no reply");
      await armed.died();
      await armed.gateway.close();
      if (isKept) {
        // The bank does not send it again: a sweep of the running gateways finds it.
        await until(
          "a sweep has credited it",
          async () => (await stateOf(told["id"])) === "credited",
        );
        t.equal((await wallet(other, accountId)).available, "100000");
      } else {
        t.equal((await wallet(other, accountId)).balance, "0");
      }
      // The bank sends it again, to both gateways.
      t.strictSame(await Promise.all([notify(one, told), notify(other, told)]), [OK, OK]);
      t.equal((await wallet(one, accountId)).available, "100000");
      t.equal(await creditsOf(told["id"]), 1);
      const { body } = await as(other, accountId, "GET", `/top-ups/${mine.id}`);
      t.equal(body["status"], "paid");
    });
  }

  for (const point of ["topup.bonus.decided", "topup.bonus.credited"] as const) {
    t.test(`a kill at ${point} leaves no top-up without its bonus`, async (t) => {
      const { accountId } = await createCustomer(other);
      const mine = await order(other, accountId, 300_000);
      const told = transfer({ content: mine.code, transferAmount: 300_000 });
      const armed = await ArmedGateway.start(point, options);
      await t.rejects(notify(armed.gateway, told), "the bank gets no reply");
      await armed.died();
      await armed.gateway.close();
      await until(
        "a sweep has credited it",
        async () => (await stateOf(told["id"])) === "credited",
      );
      t.strictSame(await Promise.all([notify(one, told), notify(other, told)]), [OK, OK]);
      t.equal((await wallet(other, accountId)).available, "330000");
      const { body } = await as(other, accountId, "GET", `/top-ups/${mine.id}`);
      t.match(body, { status: "paid", received_vnd: "300000", bonus_vnd: "30000" });
    });
  }

  t.test("of many transfers at once, notified to both, one earns a bonus", async (t) => {
    const { accountId } = await createCustomer(one);
    const mine = await order(one, accountId, 300_000);
    const told = Array.from({ length: 10 }, () =>
      transfer({ content: mine.code, transferAmount: 300_000 }),
    );
    await Promise.all(told.map((each, n) => notify(n % 2 ? one : other, each)));
    t.equal((await wallet(other, accountId)).available, String(10 * 300_000 + 30_000));
  });

  t.test("one transfer notified twenty times at once, to both, is credited once", async (t) => {
    const { accountId } = await createCustomer(one);
    const mine = await order(one, accountId);
    const told = transfer({ content: mine.code });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => notify(n % 2 ? one : other, told)),
    );
    for (const answer of answers) t.strictSame(answer, OK);
    t.equal((await wallet(one, accountId)).available, "100000");
    t.equal(await creditsOf(told["id"]), 1);
  });

  t.test(
    "twenty transfers at once for one order, notified to both in any order, are all credited",
    async (t) => {
      const { accountId } = await createCustomer(one);
      const mine = await order(one, accountId);
      const told = Array.from({ length: 20 }, (_, n) =>
        transfer({ content: mine.code, transferAmount: 10_000 + n }),
      );
      const answers = await Promise.all(
        told.toReversed().map((one_, n) => notify(n % 2 ? one : other, one_)),
      );
      for (const answer of answers) t.strictSame(answer, OK);
      const sum = 20 * 10_000 + 190;
      t.equal((await wallet(other, accountId)).available, String(sum));
      const { body } = await as(other, accountId, "GET", `/top-ups/${mine.id}`);
      t.strictSame([body["status"], body["received_vnd"]], ["overpaid", String(sum)]);
    },
  );

  t.test("a key that was refused for lack of money works at once, in both", async (t) => {
    const caller = await createCustomer(one);
    for (const gateway of [one, other]) t.equal((await call(gateway, caller)).status, 402);
    const mine = await order(one, caller.accountId, 50_000);
    const told = transfer({ content: mine.code, transferAmount: 50_000 });
    t.strictSame(await notify(one, told), OK);
    for (const gateway of [other, one]) t.equal((await call(gateway, caller)).status, 200);
  });

  t.test("a top-up that earns a discount applies to the next call, in both", async (t) => {
    const caller = await createCustomer(one, { creditVnd: 10_000 });
    const discountBps = async (gateway: TestGateway) => {
      const { status, headers } = await call(gateway, caller);
      t.equal(status, 200);
      const callId = headers.get("x-request-id");
      let record: Record<string, unknown> | undefined;
      await until("the call is recorded", async () => {
        const { body } = await admin(gateway, "GET", `/accounts/${caller.accountId}/usage`);
        const records = Array.isArray(body["list"]) ? body["list"] : [];
        record = records.find((one_) => one_["call_id"] === callId);
        return record !== undefined;
      });
      return record?.["discount_bps"];
    };
    t.strictSame([await discountBps(one), await discountBps(other)], [0, 0]);
    const mine = await order(one, caller.accountId, 10_000_000);
    const told = transfer({ content: mine.code, transferAmount: 10_000_000 });
    t.strictSame(await notify(one, told), OK);
    t.strictSame([await discountBps(other), await discountBps(one)], [200, 200]);
  });

  t.test("in the end all books agree", async () => {
    await assertReconciled(other);
  });
});
