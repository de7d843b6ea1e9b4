import { randomUUID } from "node:crypto";
import t from "tap";
import {
  BONUS_REFERENCE,
  TAKEN_BACK_REFERENCE,
  VOUCHER_REFERENCE,
} from "../../../core/money/ledger/corrections.ts";
import { newId } from "../../../core/process/id.ts";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import type { ReportDimension, ReportRow } from "../../../core/usage/books.ts";
import { usageBooksOf } from "../../../core/usage/usage-books.ts";
import { Random } from "../../support/random.ts";
import { charge, debit, fundedAccount, topUp } from "../money/ledger/fixtures.ts";
import { startTestLedger } from "../money/ledger/test-ledger.ts";

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2025, 10, 20);
const DAYS = 100;
const NOW = Date.now();
const TODAY = dayOf(new Date(NOW));
const daysAgo = (days: number) => dayOf(new Date(NOW - days * DAY_MS));
const CREDIT = 10_000_000n;
const BY: Readonly<Record<ReportDimension, string>> = {
  day: "(at at time zone 'Asia/Ho_Chi_Minh')::date::text",
  model: "model",
  provider: "coalesce(upstream, '')",
  account: "account_id::text",
  key: "key_id::text",
};

const random = Random.printed();

t.test("the sums of a report", async (t) => {
  const accounts: { readonly id: string; readonly keys: readonly string[] }[] = [];

  function randomCall({ id, keys } = random.pick(accounts)) {
    const charged = random.below(100);
    return charge(id, charged, {
      at: random.chance(0.3)
        ? NOW - random.below(60 * DAY_MS)
        : FIRST + random.below(DAYS * DAY_MS),
      ...{
        keyId: random.pick(keys),
        model: random.pick(["a", "b", "c"]),
        upstream: random.pick(["x", "y", null]),
      },
      ...{ cacheReadTokens: random.pick([0, 7]), images: random.pick([0, 2]) },
      ...random.pick([
        { status: 200 },
        { status: 200 },
        { status: 502, outcome: "broken" } as const,
      ]),
      providerCostMicroVnd: random.pick([null, 0, 30, 120]),
    });
  }

  const books = await startTestLedger(6);
  t.teardown(() => books.stop());
  const ledger = books.ledger;
  await ledger.start();
  const reports = usageBooksOf(ledger.database);
  for (let n = 0; n < 4; n++) {
    const keys = Array.from({ length: n + 1 }, () => randomUUID());
    accounts.push({ id: await fundedAccount(ledger, CREDIT), keys });
  }
  // These calls are recorded before the plugin is listed.
  await ledger.commit(Array.from({ length: 100 }, () => randomCall()));
  await reports.prepareReport();
  // Commits run side by side. Some calls are committed twice.
  for (let round = 0; round < 5; round++) {
    const batches = accounts.map((one) => Array.from({ length: 30 }, () => randomCall(one)));
    const twice = random.pick(batches);
    await Promise.all([...batches, twice].map((batch) => ledger.commit(batch)));
  }

  /** Adds up the records themselves. */
  async function ofRecords(by: ReportDimension, from: string, to: string): Promise<ReportRow[]> {
    return books.sql.query(
      `select ${BY[by]} as "${by}", ${by === "key" ? 'account_id::text as "account",' : ""}
        count(*)::float8 as calls,
        (count(*) filter (where status <> 200 or outcome = 'broken'))::float8 as "failedCalls",
        sum(input_tokens)::float8 as "inputTokens", sum(cache_read_tokens)::float8 as "cacheReadTokens",
        sum(cache_write_tokens)::float8 as "cacheWriteTokens", sum(output_tokens)::float8 as "outputTokens",
        sum(images)::float8 as images, count(provider_cost)::float8 as "costedCalls",
        (count(*) filter (where provider_cost > charged))::float8 as "belowCostCalls",
        sum(charged)::bigint as "chargedMicroVnd",
        coalesce(sum(charged) filter (where provider_cost is not null), 0)::bigint as "costedChargedMicroVnd",
        coalesce(sum(provider_cost), 0)::bigint as "providerCostMicroVnd",
        coalesce(sum(provider_cost - charged) filter (where provider_cost > charged), 0)::bigint as "belowCostMicroVnd"
      from usage_records
      where ${BY.day} between $1 and $2
      group by ${by === "key" ? "1, 2" : "1"}`,
      [from, to],
    );
  }

  const sorted = (rows: readonly object[]) =>
    rows.map((row) => Object.entries(row).sort().join()).sort();

  for (const [from, to] of [
    ["2025-11-01", "2026-03-31"],
    ["2025-12-01", "2025-12-31"],
    ["2025-12-10", "2026-02-15"],
    ["2025-12-31", "2026-01-01"],
    ["2025-01-01", TODAY],
    [daysAgo(50), daysAgo(3)],
    ["2130-01-01", "2130-01-31"],
  ] as const) {
    t.test(`are those of the records from ${from} to ${to}`, async (t) => {
      for (const by of Object.keys(BY) as ReportDimension[]) {
        const { rows, total, isCut } = await reports.report(by, from, to, 1_000);
        t.strictSame(sorted(rows), sorted(await ofRecords(by, from, to)), by);
        const calls = rows.reduce((sum, row) => sum + row.calls, 0);
        t.strictSame([total.calls, isCut], [calls, false]);
      }
    });
  }

  t.test("have at most so many rows, the largest charges, and the total of all", async (t) => {
    const all = await reports.report("key", "2025-11-01", "2026-03-31", 1_000);
    const cut = await reports.report("key", "2025-11-01", "2026-03-31", 3);
    t.strictSame(cut, { rows: all.rows.slice(0, 3), total: all.total, isCut: true });
    const charges = all.rows.map(({ chargedMicroVnd }) => Number(chargedMicroVnd));
    t.strictSame(
      charges,
      charges.toSorted((a, b) => b - a),
    );
  });

  t.test("and what is owed at the end of a day, are those of the ledger", async (t) => {
    const [now] = await books.sql.query<{ balance: bigint }>(
      "select sum(balance)::bigint as balance from wallets",
    );
    const { owed, ...money } = await reports.money("2025-01-01", TODAY);
    t.equal(owed, now?.balance);
    const none = {
      ...{ transfer: 0n, taken_back: 0n, refund: 0n, adjustment: 0n },
      ...{ bonus: 0n, voucher: 0n, owedGifts: 0n, giftsSpent: 0n },
    };
    t.strictSame(money, { ...none, credit: 4n * CREDIT });
    const before = await reports.money("2020-01-01", "2020-12-31");
    t.strictSame(before, { ...none, credit: 0n, owed: 0n });
  });

  type Step = readonly [kind: "credit" | "bonus" | "voucher" | "taken" | "charge", amount: number];

  /** Makes each step on a day of its own, each list on a new account. Returns what these have left of gifts after each day. */
  async function afterEachDay(stepsOf: readonly (readonly Step[])[]): Promise<bigint[]> {
    const days = Math.max(...stepsOf.map(({ length }) => length));
    const atOf = (day: number) => NOW - (days - day) * DAY_MS;
    const shown = Array.from({ length: days }, (_, day) => dayOf(new Date(atOf(day))));
    const before: bigint[] = [];
    for (const day of shown) before.push((await reports.money(day, day)).owedGifts);
    for (const steps of stepsOf) {
      const id = await fundedAccount(ledger, 0n);
      for (const [day, [kind, amount]] of steps.entries()) {
        if (kind === "charge") {
          const at = atOf(day);
          await ledger.commit([charge(id, amount, { callId: newId(at), at })]);
        } else if (kind === "taken") {
          const reference = `${TAKEN_BACK_REFERENCE}1:${BONUS_REFERENCE}${newId(NOW)}`;
          await ledger.commit([debit(id, BigInt(amount), reference)]);
        } else {
          const name = { credit: "", bonus: BONUS_REFERENCE, voucher: VOUCHER_REFERENCE }[kind];
          const movement = topUp(id, BigInt(amount), `${name}${newId(NOW)}`);
          const isGift = kind !== "credit";
          await ledger.credit(isGift ? { ...movement, kind: "adjustment" } : movement);
        }
        await books.sql.script(`
          set session_replication_role = replica;
          update ledger_entries set at = to_timestamp(${atOf(day) / 1_000})
            where id = (select max(id) from ledger_entries where account_id = '${id}');
          reset session_replication_role`);
      }
    }
    const left: bigint[] = [];
    let spent = 0n;
    for (const [at, day] of shown.entries()) {
      const money = await reports.money(day, day);
      spent += money.giftsSpent;
      left.push(money.owedGifts - (before[at] ?? 0n));
      const period = await reports.money(shown[0] ?? "", day);
      t.equal(period.giftsSpent, spent, "the sum of its days");
    }
    return left;
  }

  t.test("count a gift that was spent as spent, whatever is topped up later", async (t) => {
    const later = await afterEachDay([
      [
        ["voucher", 50_000],
        ["charge", 50_000],
        ["credit", 100_000],
        ["charge", 1_000],
      ],
    ]);
    t.strictSame(later, [50_000n, 0n, 0n, 0n]);
    const rounds = Array.from({ length: 4 }, (): Step[] => [
      ["credit", 100_000],
      ["bonus", 10_000],
      ["charge", 110_000],
    ]);
    const steps: Step[] = [...rounds.flat(), ["credit", 100_000], ["bonus", 10_000]];
    t.equal((await afterEachDay([steps])).at(-1), 10_000n);
  });

  t.test("have what is left of gifts as if each dong were followed", async (t) => {
    const expected: bigint[] = Array.from({ length: 12 }, () => 0n);
    const stepsOf = Array.from({ length: 6 }, () => {
      let [real, gifts] = [0, 0];
      return expected.map((_, day): Step => {
        const kinds = ["credit", "bonus", "voucher", "taken", "charge", "charge"] as const;
        const kind = random.pick(real + gifts === 0 ? kinds.slice(0, 3) : kinds);
        const isMore = kind === "credit" || kind === "bonus" || kind === "voucher";
        const amount = 1 + random.below(isMore ? 100 : real + gifts);
        if (kind === "credit") real += amount;
        else if (isMore) gifts += amount;
        else {
          const [first, last] = kind === "charge" ? [real, gifts] : [gifts, real];
          const rest = [Math.max(0, first - amount), last - Math.max(0, amount - first)] as const;
          [real, gifts] = kind === "charge" ? rest : [rest[1], rest[0]];
        }
        expected[day] = (expected[day] ?? 0n) + BigInt(gifts);
        return [kind, amount];
      });
    });
    t.strictSame(await afterEachDay(stepsOf), expected);
  });
});
