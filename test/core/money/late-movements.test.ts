import t from "tap";
import { LateMovements } from "../../../core/money/late-movements.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { until } from "../../support/until.ts";
import { ManualMachine } from "./manual-machine.ts";
import { StubLedger } from "./stub-ledger.ts";
import { movement, withStores } from "./wallet-fixtures.ts";

const MOVEMENT = {
  accountId: "A",
  amountMicroVnd: 5n,
  reference: "r1",
  kind: "topup",
  reason: null,
} as const;

t.test("a movement whose commit is in doubt is repeated until it is done", async (t) => {
  const machine = new ManualMachine();
  const late = new LateMovements({} as never, new StubLedger(), machine);
  let tries = 0;
  const done = late.complete(MOVEMENT, async () => {
    tries += 1;
    if (tries < 3) throw new Error("the ledger is down");
  });
  await machine.advance(60_000);
  await done;
  t.equal(tries, 3);
});

t.test("the same movement is repeated by one loop at a time", async (t) => {
  const machine = new ManualMachine();
  const late = new LateMovements({} as never, new StubLedger(), machine);
  const tried: string[] = [];
  const first = late.complete(MOVEMENT, async () => {
    tried.push("first");
    if (tried.length < 2) throw new Error("the ledger is down");
  });
  await late.complete(MOVEMENT, async () => void tried.push("second"));
  await machine.advance(60_000);
  await first;
  t.strictSame(tried, ["first", "first"]);
});

t.test("limits are set as the ledger has them after the movement was applied", async (t) =>
  withStores(async ({ holdStore, ledger }) => {
    const machine = new ManualMachine();
    await ledger.credit(movement(100n));
    const change = { accountId: "A", name: "day", kind: "create", reason: null } as const;
    await ledger.changeLimit({ ...change, amountMicroVnd: 30n, reference: "l1" });
    await holdStore.load("A", () => ledger.wallet("A"));
    const set: number[] = [];
    // The ledger is restored from before the limit while the movement is applied.
    const store = {
      credit: async () => void (await ledger.removeLimit("A", "day")),
      setLimit: async (_: string, { totalMicroVnd }: { totalMicroVnd: number }) =>
        set.push(totalMicroVnd) > 0,
    };
    const late = new LateMovements(store as never, ledger, machine);
    const applied = late.apply("A", []);
    await machine.advance(LIFETIMES.applyRetryMs);
    await applied;
    t.strictSame(set, []);
  }),
);

t.test("a limit that changes while its wallet is loaded has its new total", async (t) =>
  withStores(async ({ holdStore, ledger }) => {
    const machine = new ManualMachine();
    const late = new LateMovements(holdStore, ledger, machine);
    await ledger.credit(movement(100n));
    const change = {
      accountId: "A",
      name: "day",
      amountMicroVnd: 30n,
      reference: "l1",
      reason: null,
    } as const;
    let release = () => {};
    ledger.after = () =>
      new Promise((resolve) => {
        release = resolve;
        ledger.after = async () => {};
      });
    const loaded = holdStore.load("A", () => ledger.wallet("A"));
    await until("the load has read the ledger", () => ledger.calls.wallet === 1);
    await ledger.changeLimit({ ...change, kind: "create" });
    const applied = late.apply("A", []);
    await machine.advance(LIFETIMES.applyRetryMs);
    release();
    await Promise.all([loaded, applied]);
    t.equal(holdStore.limit("A", "day")?.totalMicroVnd, 30);
  }),
);
