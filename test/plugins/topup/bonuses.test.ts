import assert from "node:assert/strict";
import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { decideBonuses, offersOf } from "../../../plugins/topup/bonuses.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { Random } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import { bootTopups } from "./in-process.ts";
import { as, notify, order, transfer } from "./topups.ts";

const random = Random.printed();
const NOVEMBER = { first_day: "2026-11-01", last_day: "2026-11-30" };
const BONUSES = [
  {
    ...{ name: "tet", title: "Thưởng Tết", ...NOVEMBER, percent: 10 },
    ...{ minimum_vnd: 500_000, bonus_max_vnd: 80_000 },
  },
  {
    ...{ name: "welcome", title: "Chào mừng", ...NOVEMBER, percent: 50 },
    ...{ bonus_max_vnd: 30_000, applies: "first_top_up" },
  },
  {
    ...{ name: "extra", title: "Thêm 5%", ...NOVEMBER, last_day: "2026-11-21", percent: 5 },
    ...{ minimum_vnd: 100_000, applies: "once_per_customer", adds_up: true },
  },
] as const;

t.test("bonuses of top-ups", async (t) => {
  const gateway = await bootTopups({ promotions: { counted: "all", bonuses: BONUSES } });
  t.teardown(async () => {
    const { body } = await admin(gateway, "GET", "/reconcile").finally(() => gateway.close());
    assert.equal(body["drift"], false);
  });

  const customer = async () => (await createCustomer(gateway)).accountId;
  const spendable = async (accountId: string) => (await wallet(gateway, accountId)).available;

  /** A transfer that the bank booked on a day, credited to an account. Returns its id. */
  async function pay(accountId: string, amountVnd: number, day = "2026-11-21"): Promise<string> {
    const transactionDate = `${day} 23:59:59`;
    const told = transfer({ content: "none", transferAmount: amountVnd, transactionDate });
    await notify(gateway, told);
    const id = String(told["id"]);
    await assign(id, accountId);
    return id;
  }
  async function assign(id: string, account: string): Promise<void> {
    const given = { account, reason: "by e-mail" };
    const { body } = await admin(gateway, "POST", `/transfers/${id}/assign`, given);
    assert.match(String(body["state"]), /^(?:matched|credited)$/, JSON.stringify(body));
    await untilCredited(id);
  }
  /** A store that does not reply in time gets the credit by a sweep. */
  const untilCredited = (id: string) =>
    until("it is credited", async () => {
      const now = await admin(gateway, "GET", `/transfers/${id}`);
      return now.body["state"] === "credited";
    });
  const reverse = (id: string, more: object = {}) =>
    admin(gateway, "POST", `/transfers/${id}/reverse`, { reason: "wrong", ...more });
  const refund = (body: object) => admin(gateway, "POST", "/refunds", { reason: "back", ...body });

  /** The rows of an account in the ledger: kind, amount, balance after, reference. */
  async function rowsOf(accountId: string): Promise<string[]> {
    const { body } = await admin(gateway, "GET", `/accounts/${accountId}/ledger`);
    return (body["rows"] as JsonObject[]).map(({ kind, amount_vnd, balance_vnd, reference }) =>
      [kind, amount_vnd, balance_vnd, String(reference).replace(/\d{4,}/, "ID")].join(" "),
    );
  }
  /** The bonuses that a top-up earned, by their names. */
  const earned = async (accountId: string) =>
    (await rowsOf(accountId)).flatMap((row) => {
      const [, name] = / bonus:([^:]+):/.exec(row) ?? [];
      return name === undefined || row.includes("taken-back")
        ? []
        : [`${name} ${row.split(" ")[1]}`];
    });

  t.test("are rows of their own, with the balance after, and count for no discount", async (t) => {
    const accountId = await customer();
    gateway.clock.set(Date.parse("2026-11-22T10:00:00+07:00"));
    const mine = await order(gateway, accountId, 600_000);
    gateway.clock.offsetMs = 0;
    t.equal(mine["expected_bonus_vnd"], "60000", "one has ended");
    const told = transfer({ content: mine.code, transferAmount: 600_000 });
    await notify(gateway, told);
    t.strictSame(await rowsOf(accountId), [
      "transfer 600000 600000 transfer:ID",
      "bonus 30000 630000 bonus:extra:transfer:ID",
      "bonus 60000 690000 bonus:tet:transfer:ID",
    ]);
    const { body } = await as(gateway, accountId, "GET", `/top-ups/${mine.id}`);
    t.match(body, { status: "paid", received_vnd: "600000", bonus_vnd: "90000" });
    t.match(body["payments"], [{ amount_vnd: "600000", bonus_vnd: "90000" }]);
    const promotions = await as(gateway, accountId, "GET", "/promotions");
    t.match(promotions.body, { lifetime: { total_vnd: "600000" } });
    await notify(gateway, told);
    t.equal(await spendable(accountId), "690000");
  });

  t.test("go by amount, day, and what the customer had before", async (t) => {
    const cases: readonly (readonly [amountVnd: number, day: string, wanted: string])[] = [
      // amount, day of the bank, the bonuses of the first transfer of a customer
      [50_000, "2026-11-21", "welcome 25000"],
      [99_999, "2026-11-21", "welcome 30000"],
      [100_000, "2026-11-21", "extra 5000,welcome 30000"],
      [100_000, "2026-11-22", "welcome 30000"],
      [499_999, "2026-11-30", "welcome 30000"],
      [500_000, "2026-11-30", "tet 50000"],
      [5_000_000, "2026-11-01", "extra 250000,tet 80000"],
      [5_000_000, "2026-10-31", ""],
      [5_000_000, "2026-12-01", ""],
      [1, "2026-11-22", ""],
    ];
    for (const [amountVnd, day, wanted] of cases) {
      const accountId = await customer();
      await pay(accountId, amountVnd, day);
      t.equal((await earned(accountId)).join(), wanted, `${amountVnd} ${day}`);
      await pay(accountId, 100_000);
      const more = wanted.includes("extra") ? "" : "extra 5000";
      const all = [wanted, more].filter((text) => text !== "").join();
      t.equal((await earned(accountId)).join(), all, `then 100,000, after ${amountVnd} ${day}`);
    }
  });

  t.test("of two first top-ups at once are those of one", async (t) => {
    const accountId = await customer();
    const mine = await order(gateway, accountId, 60_000);
    const both = [60_000, 60_001].map((transferAmount) =>
      transfer({ content: mine.code, transferAmount }),
    );
    await Promise.all(both.map((told) => notify(gateway, told)));
    for (const told of both) await untilCredited(String(told["id"]));
    t.strictSame(await earned(accountId), ["welcome 30000"]);
  });

  t.test("are shown before the customer pays", async (t) => {
    gateway.clock.set(Date.parse("2026-11-21T10:00:00+07:00"));
    t.teardown(() => {
      gateway.clock.offsetMs = 0;
    });
    const accountId = await customer();
    const names = async () => {
      const { body } = await as(gateway, accountId, "GET", "/top-ups/settings");
      const { bonuses } = body["promotions"] as { bonuses: JsonObject[] };
      return bonuses.map(({ name }) => name);
    };
    t.strictSame(await names(), ["tet", "welcome", "extra"]);
    t.equal((await order(gateway, accountId, 100_000))["expected_bonus_vnd"], "35000");
    await pay(accountId, 100_000);
    t.strictSame(await names(), ["tet"]);
    gateway.clock.set(Date.parse("2026-12-01T00:00:00+07:00"));
    t.strictSame(await names(), []);
  });

  t.test("are taken back with their top-up, before it, and can be earned again", async (t) => {
    const accountId = await customer();
    const id = await pay(accountId, 600_000);
    const { status, body } = await reverse(id);
    t.equal(status, 200, JSON.stringify(body));
    t.match(body["taken_back"], { amount_vnd: "600000", bonus_vnd: "90000", left_vnd: "0" });
    t.strictSame((await rowsOf(accountId)).slice(3).sort(), [
      "bonus -30000 660000 taken-back:1:bonus:extra:transfer:ID",
      "bonus -60000 600000 taken-back:1:bonus:tet:transfer:ID",
      "taken_back -600000 0 taken-back:1:transfer:ID",
    ]);
    await assign(id, accountId);
    t.equal(await spendable(accountId), "690000");
  });

  t.test("are taken back in parts, in proportion, to the whole", async (t) => {
    const accountId = await customer();
    const top_up = `transfer:${await pay(accountId, 600_000)}`;
    t.match((await refund({ top_up, amount_vnd: "200000" })).body, { bonus_vnd: "30000" });
    t.equal(await spendable(accountId), "460000");
    await refund({ top_up, amount_vnd: "200000" });
    t.equal(await spendable(accountId), "460000");
    t.match((await refund({ top_up })).body, { amount_vnd: "400000", bonus_vnd: "60000" });
    t.equal(await spendable(accountId), "0");
    const later = `transfer:${await pay(accountId, 500_000, "2026-11-22")}`;
    t.equal(await spendable(accountId), "550000");
    await refund({ top_up: `bonus:tet:${later}` });
    t.equal(await spendable(accountId), "500000");
  });

  t.test("that are spent keep a top-up from being taken back, unless asked", async (t) => {
    const accountId = await customer();
    const id = await pay(accountId, 600_000);
    const spent = { amount_vnd: "-50000", reference: `spent-${id}`, reason: "spent" };
    await admin(gateway, "POST", `/accounts/${accountId}/adjustments`, spent);
    t.equal((await reverse(id)).status, 409);
    t.equal(await spendable(accountId), "640000", "nothing is taken");
    const asked = await reverse(id, { confirm_above_vnd: "0" });
    t.match(asked.body["error"], { code: "below_zero" });
    const { body } = await reverse(id, { as_much_as_there_is: true });
    t.match(body["taken_back"], { amount_vnd: "600000", bonus_vnd: "40000" });
    t.equal(await spendable(accountId), "0");
    // Less than was taken before: nothing of the bonus goes either.
    const more = { amount_vnd: "100000", reference: `more-${id}` };
    await admin(gateway, "POST", `/accounts/${accountId}/credits`, more);
    t.equal((await refund({ top_up: `transfer:${id}`, amount_vnd: "300000" })).status, 409);
    t.equal(await spendable(accountId), "100000");
  });

  t.test("that are all spent, with their top-up, keep it from no other customer", async (t) => {
    const [wrong, right] = [await customer(), await customer()];
    const id = await pay(wrong, 600_000);
    const spent = { amount_vnd: "-690000", reference: `spent-${id}`, reason: "spent" };
    await admin(gateway, "POST", `/accounts/${wrong}/adjustments`, spent);
    const { body } = await reverse(id, { as_much_as_there_is: true, confirm_above_vnd: "0" });
    t.match(body["taken_back"], { amount_vnd: "0", applied: false });
    await assign(id, right);
    t.equal(await spendable(right), "690000");
  });

  t.test("and their top-up are one question to the operator", async (t) => {
    const accountId = await customer();
    const id = await pay(accountId, 600_000);
    const { body } = await reverse(id, { confirm_above_vnd: "0" });
    t.match(body["error"], { code: "confirmation_needed", message: /Take 690,000 đ from/ });
    t.equal(await spendable(accountId), "690000");
  });

  t.test("are in the ledger before their transfer is called credited", async (t) => {
    const accountId = await customer();
    const told = transfer({ content: "none", transferAmount: 600_000 });
    await notify(gateway, told);
    const { database, wallets } = gateway.gateway.services;
    const id = String(told["id"]);
    const reference = `transfer:${id}`;
    const amountMicroVnd = 600_000_000_000n;
    const movement = { accountId, reference, amountMicroVnd, kind: "topup", reason: null } as const;
    await wallets.current.credit(movement);
    await database.query(
      `insert into topup_bonuses (top_up, name, account_id, amount, title) values ($1, 'x', $2, 5, 'x')`,
      [reference, accountId],
    );
    const mark = database.query(
      `update bank_transfers set state = 'credited', account_id = $2, credited_at = now() where id = $1`,
      [id, accountId],
    );
    await t.rejects(mark, { message: /a bonus of transfer \S+ is not in the ledger/ });
  });

  t.test("are decided once, however many decide at a time", async (t) => {
    const { database } = gateway.gateway.services;
    const same = { title: "x", ...NOVEMBER, percent: 5, minimum_vnd: 0 };
    const bonuses = [
      { name: "tet", ...same, applies: "each_time" as const, adds_up: false },
      { name: "extra", ...same, applies: "once_per_customer" as const, adds_up: true },
    ];
    for (let round = 0; round < 5; round++) {
      const accountId = await customer();
      const told = transfer({ content: "none", transferAmount: 600_000 });
      await notify(gateway, told);
      const id = String(told["id"]);
      await database.query(
        "update bank_transfers set state = 'matched', account_id = $2 where id = $1",
        [id, accountId],
      );
      const offers = offersOf(bonuses, 600_000_000_000n, "2026-11-21");
      const decided = await Promise.all(
        Array.from({ length: 6 }, () => decideBonuses(database, id, offers)),
      );
      const [first] = decided;
      t.equal(first?.length, 2);
      t.ok(decided.every((one) => one.length === 2));
      await untilCredited(id);
    }
  });

  t.test("after random top-ups and reversals add up, in wallets and report", async (t) => {
    const accounts = [await customer(), await customer(), await customer()];
    const reportOf = async () => (await admin(gateway, "GET", "/report")).body;
    const before = await reportOf();
    /** A transfer with its rest and its bonuses, in đ. */
    interface Paid {
      readonly id: string;
      readonly sequence: number;
      readonly amount: number;
      readonly day: string;
      account: string;
      taken: number;
      bonuses: { name: string; amount: number; left: number }[];
    }
    const all: Paid[] = [];
    let round = "";
    /** The rules once more, said in another way. */
    const decide = (paid: Paid) => {
      const others = all.filter((other) => other !== paid && other.account === paid.account);
      const had = (name: string) =>
        others.some(({ bonuses }) => bonuses.some((one) => one.name === name && one.left > 0));
      const { amount, day } = paid;
      const tet = amount >= 500_000 ? Math.min(80_000, Math.floor(amount / 10)) : 0;
      const isFirst = !others.some(({ sequence }) => sequence < paid.sequence) && !had("welcome");
      const welcome = isFirst ? Math.min(30_000, Math.floor(amount / 2)) : 0;
      const isExtra = amount >= 100_000 && day <= "2026-11-21" && !had("extra");
      const extra = isExtra ? Math.floor(amount / 20) : 0;
      const best =
        tet >= welcome ? { name: "tet", amount: tet } : { name: "welcome", amount: welcome };
      paid.bonuses = [best, { name: "extra", amount: extra }]
        .filter((one) => one.amount > 0)
        .map((one) => ({ ...one, left: one.amount }));
    };
    const takeBack = (paid: Paid, total: number) => {
      paid.taken = total;
      for (const bonus of paid.bonuses) {
        bonus.left = bonus.amount - (bonus.amount * total) / paid.amount;
      }
    };
    for (let step = 0; step < 40; step++) {
      const account = random.pick(accounts);
      const paid = all.length > 0 ? random.pick(all) : undefined;
      const chance = random.below(10);
      if (paid === undefined || chance < 5) {
        // Amounts whose parts are whole µđ.
        const amount = 20_000 * (1 + random.below(60));
        const day = random.pick(["2026-11-20", "2026-11-21", "2026-11-22"]);
        const id = await pay(account, amount, day);
        const fresh = { id, sequence: all.length, amount, day, account, taken: 0, bonuses: [] };
        all.push(fresh);
        decide(fresh);
        round = `pay ${amount} ${day}`;
      } else if (chance < 7 && paid.taken < paid.amount) {
        const total = paid.taken + Math.ceil((paid.amount - paid.taken) / 20_000 / 2) * 20_000;
        const { transfer: shown } = {
          transfer: await admin(gateway, "GET", `/transfers/${paid.id}`),
        };
        const top_up = shown.body["reference"];
        const { status, body } = await refund({ top_up, amount_vnd: String(total) });
        t.equal(status, 200, JSON.stringify(body));
        takeBack(paid, total);
        round = `refund ${total} of ${paid.amount}`;
      } else {
        const { status, body } = await reverse(paid.id);
        t.equal(status, 200, JSON.stringify(body));
        takeBack(paid, paid.amount);
        paid.account = account;
        paid.bonuses = [];
        await assign(paid.id, account);
        paid.taken = 0;
        decide(paid);
        round = `reverse ${paid.amount}, assign`;
      }
      for (const one of accounts) {
        const left = all
          .filter((other) => other.account === one)
          .flatMap(({ amount, taken, bonuses }) => [amount - taken, ...bonuses.map((b) => b.left)])
          .reduce((sum, part) => sum + part, 0);
        t.equal(Number(await spendable(one)).toFixed(3), left.toFixed(3), `${step} ${round}`);
      }
    }
    const after = await reportOf();
    const difference = (name: string) => Number(after[name]) - Number(before[name]);
    const gifts = all.flatMap(({ bonuses }) => bonuses).reduce((sum, { left }) => sum + left, 0);
    const money = all.reduce((sum, { amount, taken }) => sum + amount - taken, 0);
    t.equal(difference("bonuses_vnd").toFixed(3), gifts.toFixed(3));
    t.equal(difference("owed_gifts_vnd").toFixed(3), gifts.toFixed(3));
    t.equal(difference("owed_vnd").toFixed(3), (gifts + money).toFixed(3));
    t.equal(difference("transfers_vnd") + difference("taken_back_vnd"), money);
  });
});
