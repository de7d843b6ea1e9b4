import t from "tap";
import type { HoldStore, LoadedVersion } from "../../../core/money/hold-store.ts";
import type { Ledger, LedgerSum } from "../../../core/money/ledger.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { walletKey } from "../../../core/money/purse.ts";
import { reconcile } from "../../../core/money/reconcile.ts";
import type { ReconcileRow } from "../../../core/money/wallet.ts";
import { ManualMachine } from "./manual-machine.ts";

type Parts = [available: number, held: number, uncommitted: number];

/** Two stores that reply what the test says, and count what was asked. */
class Stores {
  /** The rows that the ledger lists, and its later replies about one of them; the last of these stays. */
  sums: LedgerSum[] = [];
  later: (LedgerSum | undefined)[] = [];
  /** The hold store's amounts in the order of its reads; the last stays. Undefined: not loaded. */
  loaded: (Parts | undefined)[] = [];
  versions: LoadedVersion[][] = [];
  unknown: string[] = [];
  readonly asked: string[] = [];
  readonly machine = new ManualMachine();
  reading = 0;
  readingMost = 0;

  async rows(): Promise<ReconcileRow[]> {
    const ledger: Partial<Ledger> = {
      sums: () => fed(this.sums),
      sum: async (accountId, purse) => {
        this.asked.push(`${accountId} ${purse}`);
        return next(this.later);
      },
      unknown: async (loaded) => {
        const keyOf = ({ accountId, purse }: LoadedVersion) => walletKey(accountId, purse);
        this.asked.push(`unknown ${loaded.map(keyOf).join()}`);
        return loaded.filter((each) => this.unknown.includes(keyOf(each)));
      },
    };
    const holdStore: Partial<HoldStore> = {
      balances: () => this.read(),
      loadedVersions: () => fed(this.versions),
    };
    const rows: ReconcileRow[] = [];
    const { machine } = this;
    const run = async () => {
      for await (const row of reconcile(holdStore as HoldStore, ledger as Ledger, machine)) {
        rows.push(row);
      }
      return true;
    };
    const running = run();
    let isDone = false;
    void running.finally(() => {
      isDone = true;
    });
    while (!isDone) await machine.advance(LIFETIMES.reconcilePauseMs);
    await running;
    return rows;
  }

  private async read() {
    this.reading += 1;
    this.readingMost = Math.max(this.readingMost, this.reading);
    await new Promise(setImmediate);
    this.reading -= 1;
    const parts = next(this.loaded);
    if (parts === undefined) return undefined;
    const [availableMicroVnd, heldMicroVnd, uncommittedMicroVnd] = parts;
    return { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd };
  }
}

async function* fed<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

/** Takes the first of a list; the last one stays. */
function next<T>(list: T[]): T | undefined {
  return list.length > 1 ? list.shift() : list[0];
}

function sum(entries: number, changes: Partial<LedgerSum> = {}): LedgerSum {
  const amounts = { entriesMicroVnd: BigInt(entries), balanceMicroVnd: BigInt(entries) };
  return { accountId: "A", purse: null, quarantinedMicroVnd: 0n, ...amounts, ...changes };
}

const drifts = (rows: readonly ReconcileRow[]) => rows.map((row) => Number(row.driftMicroVnd));

t.test("a row of a wallet has the amounts of both stores, which add up", async (t) => {
  const stores = new Stores();
  stores.sums = [sum(100)];
  stores.loaded = [[70, 20, 10]];
  const [row] = await stores.rows();
  t.strictSame(row, {
    ...{ accountId: "A", purse: null, ledgerSumMicroVnd: 100n, balanceMicroVnd: 100n },
    ...{ availableMicroVnd: 70n, heldMicroVnd: 20n, uncommittedMicroVnd: 10n, driftMicroVnd: 0n },
  });
  t.strictSame(stores.asked, [], "one look is enough");
});

t.test("a wallet that is not loaded counts with what a load would give it", async (t) => {
  const stores = new Stores();
  stores.sums = [sum(100, { balanceMicroVnd: 130n, quarantinedMicroVnd: 30n })];
  stores.later = stores.sums;
  const [row] = await stores.rows();
  t.match(row, { availableMicroVnd: 100n, heldMicroVnd: 0n, uncommittedMicroVnd: 0n });
  t.equal(row?.driftMicroVnd, 30n, "the balance beside the last row is wrong");
});

t.test("drift is what the hold store has more than the ledger, or less", async (t) => {
  for (const [available, drift] of [
    [105, 5],
    [93, -7],
  ] as const) {
    const stores = new Stores();
    stores.sums = [sum(100)];
    stores.later = stores.sums;
    stores.loaded = [[available, 0, 0]];
    t.strictSame(drifts(await stores.rows()), [drift]);
    t.equal(stores.asked.length, 40, "20 looks, each between two reads of the ledger");
    t.equal(stores.machine.timersRunning, 0);
  }
});

t.test("drift that a second look does not find is none", async (t) => {
  const stores = new Stores();
  stores.sums = [sum(100)];
  stores.later = [sum(90)];
  stores.loaded = [[90, 0, 0]];
  const [row] = await stores.rows();
  t.match(row, { ledgerSumMicroVnd: 90n, driftMicroVnd: 0n });
  t.equal(stores.asked.length, 2);
});

t.test("a look counts only between two equal reads of the ledger", async (t) => {
  for (const moved of [sum(95), sum(100, { balanceMicroVnd: 95n })]) {
    const stores = new Stores();
    stores.sums = [sum(100)];
    stores.later = [moved, sum(90), sum(90), sum(90)];
    stores.loaded = [
      [80, 0, 0],
      [90, 0, 0],
      [90, 0, 0],
    ];
    t.strictSame(drifts(await stores.rows()), [0]);
    t.equal(stores.asked.length, 4, "the first of two looks did not count");
  }
});

t.test("a ledger that never stands still counts with one read that agreed", async (t) => {
  const stores = new Stores();
  stores.sums = [sum(1_000)];
  stores.later = Array.from({ length: 40 }, (_, at) => sum(999 - at));
  // The third look agrees with the read before it, which is 995; no other does.
  stores.loaded = [
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
    [995, 0, 0],
    [1, 0, 0],
  ];
  const [row] = await stores.rows();
  t.match(row, { ledgerSumMicroVnd: 995n, driftMicroVnd: 0n });
  t.equal(stores.asked.length, 40);
});

t.test("a ledger that stood still once counts as it is at the end", async (t) => {
  const stores = new Stores();
  stores.sums = [sum(1_000)];
  stores.later = [sum(500), sum(500), ...Array.from({ length: 38 }, (_, at) => sum(400 - at))];
  stores.loaded = [
    [1, 0, 0],
    [1, 0, 0],
    [400, 0, 0],
    [1, 0, 0],
  ];
  t.strictSame(drifts(await stores.rows()), [1 - (400 - 37)]);
});

t.test("an account that the ledger does not have any more keeps its row", async (t) => {
  for (const later of [[undefined], [sum(90), undefined], [undefined, sum(90)]]) {
    const stores = new Stores();
    stores.sums = [sum(100)];
    stores.later = [...later];
    stores.loaded = [[90, 0, 0]];
    t.strictSame(drifts(await stores.rows()), [-10]);
  }
});

t.test("every row is compared, at most 50 at once", async (t) => {
  for (const count of [0, 49, 50, 51, 120]) {
    const stores = new Stores();
    stores.sums = Array.from({ length: count }, (_, at) => sum(7, { accountId: `a${at}` }));
    stores.loaded = [[7, 0, 0]];
    const rows = await stores.rows();
    t.strictSame(
      rows.map(({ accountId }) => accountId),
      stores.sums.map(({ accountId }) => accountId),
    );
    t.equal(stores.readingMost, Math.min(count, 50));
  }
});

t.test(
  "all money of a wallet that only the hold store has is drift, and a purse may have some on its way",
  async (t) => {
    const stores = new Stores();
    const wallet = (accountId: string) => ({ accountId, purse: null, version: 1 });
    const purse = { ...wallet("A"), purse: "day" };
    stores.versions = [[wallet("A"), wallet("x"), purse], [purse], [wallet("y")]];
    stores.unknown = ["x", "y", "A|day"];
    stores.loaded = [
      [3, 2, 1],
      [-5, 2, 3],
      [-5, 2, 3],
      [4, 0, 0],
    ];
    const rows = await stores.rows();
    t.strictSame(stores.asked, ["unknown A,x,A|day", "unknown A|day", "unknown y"]);
    t.match(rows, [
      { accountId: "x", purse: null, ledgerSumMicroVnd: 0n, heldMicroVnd: 2n, driftMicroVnd: 6n },
      { accountId: "y", purse: null, balanceMicroVnd: 0n, driftMicroVnd: 4n },
    ]);
  },
);
