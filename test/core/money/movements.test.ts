import t from "tap";
import { debitOf } from "../../../core/money/debit.ts";
import type {
  CreditTotal,
  DebitResult,
  HoldStore,
  HoldStoreHealth,
} from "../../../core/money/hold-store.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { createStoredWallets, type StoredWallets } from "../../../core/money/stored-wallets.ts";
import { ManualMachine } from "./manual-machine.ts";
import { StubLedger } from "./stub-ledger.ts";
import { movement } from "./wallet-fixtures.ts";

const { missedLookMs, missedBackMs } = LIFETIMES;

/** A gateway whose ledger also gets statements of a process that died. Its hold store notes what it is given. */
class Stage {
  readonly machine = new ManualMachine();
  readonly ledger = new StubLedger();
  readonly applied: string[] = [];
  /** Whether a wallet affords what is credited. */
  affords = true;
  /** The account whose wallet the hold store cannot reach. */
  unreachable = "";
  ledgerIsDown = false;
  /** The next replies to a debit. */
  readonly debited: DebitResult[] = [];
  health: HoldStoreHealth = { kind: "ok" };
  readonly wallets: StoredWallets;

  constructor() {
    const { ledger, machine, applied } = this;
    ledger.addAccount("A");
    ledger.now = async () => {
      if (this.ledgerIsDown) throw new Error("the ledger is down");
      return machine.now();
    };
    const holdStore: Partial<HoldStore> = {
      async *loadedVersions() {},
      ledgerWentBack: () => false,
      health: () => this.health,
      debit: async () => this.debited.shift() ?? { kind: "posted", duplicate: false },
      credit: async (total: CreditTotal) => {
        const { accountId, creditVersion, creditedMicroVnd } = total;
        if (accountId === this.unreachable) throw new Error("its node is down");
        applied.push(`movement ${creditVersion}: ${creditedMicroVnd}`);
        return this.affords;
      },
    };
    this.wallets = createStoredWallets({ holdStore: holdStore as HoldStore, ledger, machine });
  }

  /** Returns what was applied since the last call, once this time has passed. */
  async after(ms: number): Promise<string[]> {
    await this.machine.advance(ms);
    return this.applied.splice(0);
  }
}

t.test(
  "a movement that a slow ledger commits after its process died becomes spendable",
  async (t) => {
    const stage = new Stage();
    await stage.wallets.start();
    await stage.machine.advance(5_000);
    await stage.ledger.credit(movement(70n));
    t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
    t.strictSame(await stage.after(missedBackMs), [], "each is applied once");
    await stage.ledger.credit(movement(5n));
    t.strictSame(await stage.after(missedLookMs), ["movement 2: 75"]);
  },
);

t.test("a commit that began before a look is found by the next one", async (t) => {
  const stage = new Stage();
  await stage.wallets.start();
  await stage.machine.advance(missedLookMs);
  const { now } = stage.ledger;
  const beganMs = stage.machine.now() - LIFETIMES.statementTimeoutMs;
  stage.ledger.now = async () => beganMs;
  await stage.ledger.credit(movement(70n));
  stage.ledger.now = now;
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
});

t.test(
  "a movement whose commit takes longer than any statement is found once it ends",
  async (t) => {
    const stage = new Stage();
    await stage.wallets.start();
    const { ledger } = stage;
    const beganMs = stage.machine.now();
    ledger.completeThrough = async () => beganMs;
    t.strictSame(await stage.after(4 * missedBackMs), []);
    const { now } = ledger;
    ledger.now = async () => beganMs;
    await ledger.credit(movement(70n));
    ledger.now = now;
    ledger.completeThrough = now;
    t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
  },
);

t.test(
  "what was committed while the ledger did not reply is found as soon as it does",
  async (t) => {
    const stage = new Stage();
    await stage.wallets.start();
    await stage.ledger.credit(movement(70n));
    stage.ledgerIsDown = true;
    t.strictSame(await stage.after(2 * missedBackMs), []);
    stage.ledgerIsDown = false;
    t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
  },
);

t.test("and all is applied again: the ledger may have been restored in between", async (t) => {
  const stage = new Stage();
  await stage.wallets.start();
  await stage.ledger.credit(movement(70n));
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
  stage.ledgerIsDown = true;
  t.strictSame(await stage.after(missedLookMs), []);
  stage.ledgerIsDown = false;
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
});

t.test("a clock of the ledger that is set back hides nothing", async (t) => {
  const stage = new Stage();
  await stage.wallets.start();
  await stage.machine.advance(missedLookMs);
  stage.ledger.now = async () => stage.machine.now() - 3_600_000;
  await stage.ledger.credit(movement(70n));
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
});

t.test("a movement that the wallet does not afford yet is applied by a later look", async (t) => {
  const stage = new Stage();
  await stage.wallets.start();
  await stage.ledger.credit(movement(70n));
  stage.affords = false;
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
  stage.affords = true;
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 70"]);
  t.strictSame(await stage.after(missedLookMs), []);
});

t.test("a wallet that cannot be reached does not hide the movements of others", async (t) => {
  const stage = new Stage();
  stage.ledger.addAccount("B");
  await stage.wallets.start();
  stage.unreachable = "A";
  await stage.ledger.credit(movement(70n));
  await stage.ledger.credit({ ...movement(5n), accountId: "B" });
  t.strictSame(await stage.after(missedLookMs), ["movement 1: 5"]);
  stage.unreachable = "";
  t.match(await stage.after(5_000), ["movement 1: 70"], "as soon as it can be reached");
});

t.test("a start goes on without a look if the hold store goes on without its nodes", async (t) => {
  const reason = { reason: "a node is down", cause: "redis_unreachable" };
  const table: [HoldStoreHealth, number | undefined][] = [
    [{ kind: "impaired", ...reason }, 0],
    [{ kind: "away", ...reason }, LIFETIMES.catchUpMs],
    // The ledger does not reply.
    [{ kind: "ok" }, undefined],
  ];
  for (const [health, startedAfterMs] of table) {
    const stage = new Stage();
    stage.health = health;
    stage.ledgerIsDown = true;
    let ended = "not yet";
    stage.wallets.start().then(
      () => (ended = "started"),
      () => (ended = "failed"),
    );
    await stage.machine.advance((startedAfterMs ?? 0) - 1_000);
    if (startedAfterMs !== 0)
      t.equal(ended, "not yet", `${health.kind}: it waits for a short outage`);
    await stage.machine.advance(LIFETIMES.catchUpMs);
    t.equal(ended, startedAfterMs === undefined ? "failed" : "started", health.kind);
    await stage.wallets.end();
  }
});

t.test("a process that stops looks no more", async (t) => {
  const stage = new Stage();
  await stage.wallets.start();
  await stage.ledger.credit(movement(70n));
  await stage.wallets.end();
  t.strictSame(await stage.after(2 * missedLookMs), []);
});

t.test("a movement whose wallet cannot be reached is pending, and applied later", async (t) => {
  const stage = new Stage();
  stage.unreachable = "A";
  await t.rejects(stage.wallets.credit(movement(70n)), {
    name: "MovementPending",
    cause: { message: /its node is down/ },
  });
  stage.unreachable = "";
  t.strictSame(await stage.after(2 * LIFETIMES.applyRetryMs), ["movement 1: 70"]);
  t.strictSame(await stage.after(10 * LIFETIMES.applyRetryMs), []);
});

t.test(
  "a movement of no account, whose commit failed, is not looked for again and again",
  async (t) => {
    const { ledger, machine, wallets } = new Stage();
    ledger.before = async (operation) => {
      if (operation === "credit") throw new Error("no reply");
    };
    await t.rejects(wallets.credit({ ...movement(5n), accountId: "none" }), /no reply/);
    for (let look = 0; look < 3; look += 1) await machine.advance(2 * LIFETIMES.applyRetryMs);
    t.equal(ledger.calls.wallet, 1);
  },
);

t.test("money that cannot be posted is not taken away", async (t) => {
  const stage = new Stage();
  const { debited, ledger, wallets } = stage;
  await ledger.credit(movement(100n));
  const take = () => wallets.credit(movement(-5n));
  debited.push({ kind: "unavailable", reason: "the store is down" });
  await t.rejects(take(), /^the store is down$/);
  debited.push({ kind: "short", purse: "wallet", availableMicroVnd: 4 });
  t.strictSame(await take(), { kind: "below_zero" });
  t.strictSame(await wallets.credit(movement(-(2n ** 53n))), { kind: "below_zero" });
  t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 100n);
});

t.test("a debit that the ledger has is applied if it is sent again, and taken once", async (t) => {
  const { applied, ledger, wallets } = new Stage();
  await ledger.credit(movement(100n));
  // Its gateway died after the commit.
  const debit = movement(-5n);
  await ledger.commit([debitOf(debit, 0)]);
  t.match(await wallets.credit(debit), { kind: "credited", applied: false });
  t.strictSame(applied, ["movement 2: 100"]);
  t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 95n);
});

t.test("money that waits in quarantine is not taken a second time", async (t) => {
  const stage = new Stage();
  const { ledger, wallets, debited } = stage;
  const entry = debitOf(movement(-5n), 0);
  ledger.quarantinedCall = async () => ({
    entry,
    reason: "of a newer version",
    since: new Date(0),
  });
  debited.push({ kind: "short", purse: "wallet", availableMicroVnd: 0 });
  await t.rejects(wallets.credit(movement(-5n)), {
    name: "MovementPending",
    message: /`quarantine retry --call [-0-9a-f]{36}`/,
  });
});

t.test("a debit that the ledger does not get is pending after some seconds", async (t) => {
  const stage = new Stage();
  let end = "waits";
  stage.wallets.credit(movement(-5n)).catch(({ name }: Error) => (end = name));
  await stage.machine.advance(0);
  await stage.machine.advance(LIFETIMES.debitWaitMs - LIFETIMES.debitPollMs);
  t.equal(end, "waits");
  await stage.machine.advance(3 * LIFETIMES.debitPollMs);
  t.equal(end, "MovementPending");
});
