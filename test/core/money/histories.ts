import assert from "node:assert/strict";
import fc from "fast-check";
import type { Test } from "tap";
import { loadWithPurses } from "../../../core/money/purse.ts";
import { MemoryLedger } from "../../support/memory-ledger.ts";
import { posting, readable } from "../../support/posting.ts";
import { until } from "../../support/until.ts";
import type { Create, HoldStoreUnderTest } from "./under-test.ts";

const RUNS = 60;
const ACCOUNTS = ["A", "B"];
/** Purse of an account; every second call counts against it. */
const PURSE = { name: "key:K", limitMicroVnd: 2_000 };

type Step =
  | { readonly do: "credit" | "hold" | "extend" | "post"; call: number; amount: number }
  | { readonly do: "void"; call: number }
  | { readonly do: "acknowledge" | "commit" | "acknowledge twice" | "crash" };

const call = fc.nat(12);
const amount = fc.integer({ min: 0, max: 1_500 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant("credit" as const), call, amount }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("hold" as const), call, amount }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("extend" as const), call, amount }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("post" as const), call, amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("void" as const), call }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("acknowledge" as const, "commit" as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("acknowledge twice" as const, "crash" as const) }),
  },
);

/** Random histories: after any steps in any order, both stores agree to the µđ. */
export function histories(t: Test, create: Create): void {
  t.test("random histories agree to the µđ", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const ledger = new MemoryLedger();
        const history = new History(await create(ledger), ledger);
        try {
          for (const one of steps) await history.take(one);
          await history.finish();
        } finally {
          await history.subject.dispose();
        }
      }),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
}

class History {
  private readonly charged = new Map<string, number>();
  private readonly credited = new Map<string, bigint>();
  private generation = 0;
  private references = 0;

  constructor(
    public subject: HoldStoreUnderTest,
    private readonly ledger: MemoryLedger,
  ) {
    for (const accountId of ACCOUNTS) this.ledger.addAccount(accountId);
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case "credit":
        await this.credit(accountOf(one.call), BigInt(one.amount + 1));
        break;
      case "hold":
        await this.hold(one.call, one.amount);
        break;
      case "extend":
        await this.extend(one.call, one.amount);
        break;
      case "post":
        await this.post(one.call, one.amount);
        break;
      case "void":
        await this.subject.store.void(this.callId(one.call), accountOf(one.call));
        break;
      case "acknowledge":
        await this.acknowledge(1);
        break;
      case "acknowledge twice":
        await this.acknowledge(2);
        break;
      case "commit":
        await this.ledger.commit(readable(await this.subject.store.read(3, 0)));
        break;
      case "crash":
        this.subject = await this.subject.crash();
        this.generation += 1;
        // Wallets wait until the posts of before are in the ledger, and on a busy machine longer than an operation waits.
        await until("the wallets are served again", async () => {
          await this.acknowledge(1);
          return this.isServed();
        });
        break;
    }
    await this.check();
  }

  /**
   * Checks after all acknowledgements: each call is charged what its post returned, and nothing is held or uncommitted.
   */
  async finish(): Promise<void> {
    await this.acknowledge(1);
    const charges = [...this.ledger.charges].map(
      ([callId, { chargedMicroVnd }]) => [callId, chargedMicroVnd] as const,
    );
    assert.deepEqual(new Map(charges), this.charged);
    for (const accountId of ACCOUNTS) {
      let balance = this.credited.get(accountId) ?? 0n;
      for (const [callId, amountMicroVnd] of this.charged) {
        if (accountOf(Number(callId.split("-")[1])) === accountId)
          balance -= BigInt(amountMicroVnd);
      }
      const wallet = await this.ledger.wallet(accountId);
      assert.equal(wallet?.balanceMicroVnd, balance);
      const balances = await this.subject.store.balances(accountId);
      if (balances === undefined) continue;
      assert.equal(balances.uncommittedMicroVnd, 0);
      assert.equal(BigInt(balances.availableMicroVnd + balances.heldMicroVnd), balance);
      const purse = await this.subject.store.balances(accountId, PURSE.name);
      if (purse === undefined) continue;
      assert.equal(purse.uncommittedMicroVnd, 0);
      const { balanceMicroVnd } = await this.ledger.purse(accountId, PURSE.name);
      assert.equal(BigInt(purse.availableMicroVnd + purse.heldMicroVnd), balanceMicroVnd);
    }
  }

  private async isServed(): Promise<boolean> {
    const found = await Promise.allSettled(ACCOUNTS.map((id) => this.subject.store.balances(id)));
    return found.every(({ status }) => status === "fulfilled");
  }

  /** Checks at any instant: nothing is below zero, and both stores agree once all posts are committed. */
  private async check(): Promise<void> {
    const uncommitted = readable(await this.subject.store.read(1_000, 0));
    for (const accountId of ACCOUNTS) {
      const balances = await this.subject.store.balances(accountId);
      if (balances === undefined) continue;
      assert.ok(
        balances.availableMicroVnd >= 0 &&
          balances.heldMicroVnd >= 0 &&
          balances.uncommittedMicroVnd >= 0,
      );
      let total = balances.availableMicroVnd + balances.heldMicroVnd + balances.uncommittedMicroVnd;
      // Committed, unacknowledged charges have left the ledger balance already.
      for (const entry of uncommitted) {
        const committed = this.ledger.charges.get(entry.posting.callId);
        if (committed?.posting.accountId === accountId) total -= committed.chargedMicroVnd;
      }
      assert.equal(BigInt(total), (await this.ledger.wallet(accountId))?.balanceMicroVnd);
      const purse = await this.subject.store.balances(accountId, PURSE.name);
      if (purse === undefined) continue;
      assert.ok(purse.heldMicroVnd >= 0 && purse.uncommittedMicroVnd >= 0);
      const used = purse.heldMicroVnd + this.chargedWithin(accountId);
      assert.equal(0 - purse.availableMicroVnd, used);
    }
  }

  /** Sum of the charges that count against the purse. */
  private chargedWithin(accountId: string): number {
    let sum = 0;
    for (const [callId, charged] of this.charged) {
      const call = Number(callId.split("-")[1]);
      if (accountOf(call) === accountId && hasPurse(call)) sum += charged;
    }
    return sum;
  }

  private async credit(accountId: string, amountMicroVnd: bigint): Promise<void> {
    this.references += 1;
    const reference = `r${this.references}`;
    const movement = { accountId, amountMicroVnd, reference, kind: "topup", reason: null } as const;
    const result = await this.ledger.credit(movement);
    assert.ok(result.kind === "credited");
    this.credited.set(accountId, (this.credited.get(accountId) ?? 0n) + amountMicroVnd);
    const { creditVersion, creditedMicroVnd } = result.wallet;
    const news = { accountId, creditVersion, creditedMicroVnd };
    const apply = async () => this.subject.store.credit(news);
    // One that meets a new epoch of Redis is applied later: see `Movements`.
    await apply().catch(apply);
    await apply();
  }

  private async hold(call: number, amountMicroVnd: number): Promise<void> {
    const callId = this.callId(call);
    if (this.charged.has(callId)) return;
    const accountId = accountOf(call);
    await loadWithPurses(this.subject.store, this.ledger, accountId, [PURSE.name]);
    const floorMicroVnd = amountMicroVnd >> 1;
    const amounts = { amountMicroVnd, floorMicroVnd };
    const request = {
      callId,
      accountId,
      keyId: "K",
      ...amounts,
      ...(hasPurse(call) && { purses: [PURSE] }),
    };
    const result = await this.subject.store.hold(request);
    assert.ok(result.kind === "held" || result.kind === "short");
  }

  private async extend(call: number, totalMicroVnd: number): Promise<void> {
    const request = { callId: this.callId(call), accountId: accountOf(call), totalMicroVnd };
    const result = await this.subject.store.extend({ ...request, floorMicroVnd: 0 });
    if (result.kind === "held") assert.ok(result.amountMicroVnd >= 0);
  }

  private async post(call: number, costMicroVnd: number): Promise<void> {
    const callId = this.callId(call);
    const accountId = accountOf(call);
    if ((await this.subject.store.balances(accountId)) === undefined) return;
    const purses = hasPurse(call) ? [PURSE.name] : null;
    const result = await this.subject.store.post(
      posting({ callId, accountId, costMicroVnd, purses }),
    );
    const before = this.charged.get(callId);
    assert.equal(result.duplicate, before !== undefined);
    if (before === undefined) this.charged.set(callId, result.chargedMicroVnd);
    else assert.equal(result.chargedMicroVnd, before);
    if (before === undefined) {
      assert.equal(result.chargedMicroVnd + result.writtenOffMicroVnd, costMicroVnd);
    }
  }

  private async acknowledge(times: number): Promise<void> {
    for (;;) {
      const entries = readable(await this.subject.store.read(5, 0));
      if (entries.length === 0) return;
      for (let time = 0; time < times; time += 1) {
        await this.ledger.commit(entries);
        await this.subject.store.acknowledge(entries);
      }
    }
  }

  /** A new id after each crash: a new process never reuses ids. */
  private callId(call: number): string {
    return `g${this.generation}-${call}`;
  }
}

function accountOf(call: number): string {
  return call % 3 === 0 ? "B" : "A";
}

function hasPurse(call: number): boolean {
  return call % 2 === 0;
}
