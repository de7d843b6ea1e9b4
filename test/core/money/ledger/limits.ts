import assert from "node:assert/strict";
import type { Test } from "tap";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import type { LimitChange, LimitChangeResult } from "../../../../core/money/ledger.ts";
import { newId } from "../../../../core/process/id.ts";
import type { LedgerUnderTest } from "./conformance.ts";
import { AT, agreedBalance, charge, fundedAccount, holdUp } from "./fixtures.ts";

const NAME = "key:K";

export function limitTests(t: Test, get: () => LedgerUnderTest): void {
  t.test("a limit is set, raised, lowered, and read with its wallet", async (t) => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    t.equal((await ledger.wallet(a))?.limits, undefined);
    t.equal(textOf(await ledger.changeLimit(set(a, 500n))), "true v1 500/500");
    t.equal(textOf(await ledger.changeLimit(add(a, 70n))), "true v2 570/570");
    t.equal(textOf(await ledger.changeLimit(add(a, -170n))), "true v3 400/400");
    t.equal(textOf(await ledger.changeLimit(add(a, 7n, "day"))), "true v1 7/7");
    t.equal(await left(ledger, a), "day 7/7, key:K 400/400");
    t.equal(textOf(await ledger.changeLimit(add(a, -401n))), "below_zero");
    t.equal(textOf(await ledger.changeLimit(set(a, 2n ** 53n))), "out_of_range");
    t.equal(textOf(await ledger.changeLimit(add(a, 2n ** 53n - 1n))), "out_of_range");
    t.equal(textOf(await ledger.changeLimit(set(newId(AT), 1n))), "no_account");
    t.equal(textOf(await ledger.changeLimit(set("nobody", 1n))), "no_account");
    t.equal(await left(ledger, a), "day 7/7, key:K 400/400");
  });

  t.test(
    "a change of a limit is made once for a reference, also if sent concurrently",
    async (t) => {
      const { ledger } = get();
      const a = await fundedAccount(ledger, 0n);
      const b = await fundedAccount(ledger, 0n);
      const change = add(a, 70n);
      const { released } = await holdUp(get(), "wallets", a);
      const results = await Promise.all(
        Array.from({ length: 20 }, () => ledger.changeLimit(change)),
      );
      await released;
      const applied = results.filter((result) => textOf(result).startsWith("true"));
      t.equal(applied.length, 1);
      t.equal(await left(ledger, a), "key:K 70/70");
      // A repetition returns the limit with later changes.
      await ledger.changeLimit(set(a, 10n));
      t.equal(textOf(await ledger.changeLimit(change)), "false v2 10/10");
      const { reference } = change;
      for (const other of [
        { ...add(b, 70n), reference },
        { ...add(a, 71n), reference },
        { ...set(a, 70n), reference },
        { ...add(a, 70n, "day"), reference },
      ]) {
        t.equal(textOf(await ledger.changeLimit(other)), "reference_conflict");
      }
      t.equal(await left(ledger, b), "");
    },
  );

  t.test("a limit is created once, and its first total never overwrites a later one", async (t) => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 0n);
    const create = { ...set(a, 70n), kind: "create" } as const;
    const { released } = await holdUp(get(), "wallets", a);
    const results = await Promise.all(
      [create, { ...create, reference: newId(AT) }, create].map((one) => ledger.changeLimit(one)),
    );
    await released;
    t.strictSame(results.map(textOf).sort(), ["false v1 70/70", "false v1 70/70", "true v1 70/70"]);
    await ledger.changeLimit(set(a, 10n));
    t.equal(textOf(await ledger.changeLimit(create)), "false v2 10/10");
    await ledger.changeLimit(set(a, 20n, "day"));
    const late = { ...set(a, 5n, "day"), kind: "create" } as const;
    t.equal(textOf(await ledger.changeLimit(late)), "false v1 20/20");
    t.equal(textOf(await ledger.changeLimit({ ...create, accountId: newId(AT) })), "no_account");
    await ledger.removeLimit(a, NAME);
    t.equal(textOf(await ledger.changeLimit(create)), "removed");
  });

  t.test(
    "a call is charged to its wallet and to each limit that it names, once, in one transaction",
    async (t) => {
      const { ledger } = get();
      const a = await fundedAccount(ledger, 1_000n);
      const b = await fundedAccount(ledger, 1_000n);
      await ledger.changeLimit(set(a, 500n));
      await ledger.changeLimit(set(a, 300n, "day"));
      await ledger.changeLimit(set(b, 500n));
      const both = charge(a, 100, { limits: [NAME, "day", "not there"] });
      const batch = [
        ...[both, charge(a, 30, { limits: [NAME] }), charge(a, 7)],
        ...[charge(a, 0, { limits: [NAME] }), charge(b, 1, { limits: [NAME] })],
      ];
      await ledger.commit(batch);
      await ledger.commit([both]);
      await ledger.commit(batch);
      t.equal(await left(ledger, a), "day 200/300, key:K 370/500");
      t.equal(await left(ledger, b), "key:K 499/500");
      t.equal(await agreedBalance(ledger, a), 863n);
      const refused = charge(a, 10_000, { limits: [NAME] });
      await t.rejects(ledger.commit([charge(a, 5, { limits: [NAME] }), refused]));
      t.equal(await left(ledger, a), "day 200/300, key:K 370/500");
    },
  );

  t.test("a limit that is lowered or charged beyond its total is below zero", async (t) => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    await ledger.changeLimit(set(a, 100n));
    await ledger.commit([charge(a, 130, { limits: [NAME] })]);
    t.equal(await left(ledger, a), "key:K -30/100");
    await ledger.changeLimit(set(a, 50n));
    t.equal(await left(ledger, a), "key:K -80/50");
  });

  t.test("an entry of a gateway that knows no limits is charged to its wallet alone", async (t) => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    await ledger.changeLimit(set(a, 100n));
    const entry = charge(a, 30);
    t.ok(!entry.text.includes("limits"));
    await ledger.commit([entry]);
    t.equal(await left(ledger, a), "key:K 100/100");
    t.equal((await ledger.call(entry.posting.callId))?.limits, null);
  });

  t.test(
    "the charge of a call in quarantine is not available of a limit, and charged once it is committed",
    async (t) => {
      const { ledger } = get();
      const a = await fundedAccount(ledger, 1_000n);
      await ledger.changeLimit(set(a, 100n));
      const entry = charge(a, 30, { limits: [NAME] });
      await ledger.quarantine(entry, "for a test");
      t.equal(await left(ledger, a), "key:K 70/100");
      t.equal(await ledger.commitQuarantined(entry.posting.callId), true);
      t.equal(await left(ledger, a), "key:K 70/100");
      t.equal(await agreedBalance(ledger, a), 970n);
    },
  );

  t.test("a removed limit is gone for good, and its calls are charged to the wallet", async (t) => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    const first = set(a, 100n);
    await ledger.changeLimit(first);
    await ledger.changeLimit(set(a, 7n, "day"));
    t.equal(await ledger.removeLimit(a, NAME), true);
    t.equal(await ledger.removeLimit(a, NAME), false);
    t.equal(await ledger.removeLimit("nobody", NAME), false);
    await ledger.commit([charge(a, 30, { limits: [NAME, "day"] })]);
    t.equal(await left(ledger, a), "day -23/7");
    t.equal(textOf(await ledger.changeLimit(set(a, 100n))), "removed");
    t.equal(textOf(await ledger.changeLimit(first)), "removed");
    t.equal(await agreedBalance(ledger, a), 970n);
  });

  t.test("what is left of a limit equals its changes less the records of its calls", async (t) => {
    const { ledger, sql } = get();
    const a = await fundedAccount(ledger, 1_000n);
    await ledger.changeLimit(set(a, 500n));
    await ledger.changeLimit(add(a, -100n));
    await ledger.changeLimit(set(a, 300n, "day"));
    await ledger.commit([
      charge(a, 30, { limits: [NAME, "day"] }),
      charge(a, 5, { at: AT + 400 * 86_400_000, limits: ["day"] }),
    ]);
    await ledger.quarantine(charge(a, 7, { limits: [NAME] }), "for a test");
    t.strictSame(await sums(ledger, a), ["day 265 265 0", "key:K 370 370 7"]);
    await sql.query("update wallet_limits set charged = charged + 1 where account_id = $1", [a]);
    t.strictSame(await sums(ledger, a), ["day 265 264 0", "key:K 370 369 7"]);
    t.equal(await ledger.sum(a, "not there"), undefined);
  });

  t.test("an account has at most 1,000 limits", async (t) => {
    const { ledger, sql } = get();
    const a = await fundedAccount(ledger, 0n);
    await sql.query(
      `insert into wallet_limits (account_id, name, total, version)
      select $1, 'n' || n, 1, 1 from generate_series(1, 999) n`,
      [a],
    );
    t.equal(textOf(await ledger.changeLimit(set(a, 1n))), "true v1 1/1");
    t.equal(textOf(await ledger.changeLimit(set(a, 1n, "one more"))), "too_many");
    t.equal(textOf(await ledger.changeLimit(set(a, 2n))), "true v2 2/2");
  });

  t.test("a change of a limit cannot be changed or removed", async (t) => {
    const { sql } = get();
    for (const text of [
      "update wallet_limit_changes set amount = amount",
      "delete from wallet_limit_changes",
      "truncate wallet_limit_changes",
    ]) {
      await t.rejects(sql.query(text), /append-only/, text);
    }
  });
}

function set(accountId: string, amountMicroVnd: bigint, name = NAME): LimitChange {
  return { accountId, name, kind: "set", amountMicroVnd, reference: newId(AT), reason: null };
}

function add(accountId: string, amountMicroVnd: bigint, name = NAME): LimitChange {
  return { ...set(accountId, amountMicroVnd, name), kind: "add" };
}

/** Returns `true v2 30/100`: applied now, the version, available of the total. */
function textOf(result: LimitChangeResult): string {
  if (result.kind !== "changed") return result.kind;
  const { version, availableMicroVnd, totalMicroVnd } = result.limit;
  return `${result.applied} v${version} ${availableMicroVnd}/${totalMicroVnd}`;
}

/** Returns `key:K 30/100` for each limit of an account: available of the total. */
async function left(ledger: PostgresLedger, accountId: string): Promise<string> {
  const { limits = [] } = (await ledger.wallet(accountId)) ?? {};
  return limits
    .map(({ name, availableMicroVnd, totalMicroVnd }) => {
      return `${name} ${availableMicroVnd}/${totalMicroVnd}`;
    })
    .join(", ");
}

/** Returns `key:K 70 70 7`: the sum of a limit's rows, its balance, its charges in quarantine; read in three ways. */
async function sums(ledger: PostgresLedger, accountId: string): Promise<string[]> {
  const found: string[] = [];
  for await (const sum of ledger.sums()) {
    if (sum.accountId !== accountId || sum.limit === null) continue;
    assert.deepEqual(await ledger.sum(accountId, sum.limit), sum);
    const { entriesMicroVnd, balanceMicroVnd, quarantinedMicroVnd } = sum;
    found.push(`${sum.limit} ${entriesMicroVnd} ${balanceMicroVnd} ${quarantinedMicroVnd}`);
  }
  for await (const { limit, entriesMicroVnd, balanceMicroVnd } of ledger.sums(true)) {
    if (limit !== null) assert.equal(entriesMicroVnd, balanceMicroVnd);
  }
  return found;
}
