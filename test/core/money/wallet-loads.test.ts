import t from "tap";
import type { HoldResult, HoldStore, WalletSnapshot } from "../../../core/money/hold-store.ts";
import type { Ledger } from "../../../core/money/ledger.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { createStoredWallets, type StoredWallets } from "../../../core/money/stored-wallets.ts";
import { ManualMachine } from "./manual-machine.ts";
import { holdRequest } from "./wallet-fixtures.ts";

const HELD: HoldResult = { kind: "held", amountMicroVnd: 5 };
const UNKNOWN: HoldResult = { kind: "unknown" };
const PURSES = [
  { name: "day", limitMicroVnd: 9 },
  { name: "month", limitMicroVnd: 90 },
];
const WALLET = { accountId: "A", balanceMicroVnd: 9n, creditVersion: 1, creditedMicroVnd: 9n };

/** Wallets over two stores that reply what the test says. */
class Stage {
  readonly machine = new ManualMachine();
  readonly done: string[] = [];
  /** Replies of the hold store to holds, in turn; the last stays. */
  holds: HoldResult[] = [HELD];
  wallet: WalletSnapshot | undefined = WALLET;
  /** Takes the place of a load. */
  onLoad: (() => Promise<boolean>) | undefined;
  readonly wallets: StoredWallets;

  constructor(isLate: boolean) {
    const { done, machine } = this;
    const holdStore: Partial<HoldStore> = {
      hold: () => {
        done.push("hold");
        const [result = HELD] = this.holds.length > 1 ? this.holds.splice(0, 1) : this.holds;
        return isLate ? Promise.resolve(result) : result;
      },
      load: async (accountId, read, purse) => {
        done.push(`load ${accountId}${purse === undefined ? "" : ` ${purse}`}`);
        return this.onLoad?.() ?? (await read()) !== undefined;
      },
    };
    const ledger: Partial<Ledger> = {
      wallet: async () => this.wallet,
      purse: async () => WALLET,
    };
    const stores = { holdStore: holdStore as HoldStore, ledger: ledger as Ledger };
    this.wallets = createStoredWallets({ ...stores, machine });
  }
}

for (const isLate of [false, true]) {
  const what = isLate ? "a hold store elsewhere" : "a hold store in memory";
  t.test(`a hold in ${what}`, async (t) => {
    const stage = (...holds: HoldResult[]) => Object.assign(new Stage(isLate), { holds });

    t.test("reads nothing if the wallet is loaded, whether or not it is short", async (t) => {
      const short: HoldResult = { kind: "short", purse: "wallet", availableMicroVnd: 1 };
      for (const result of [HELD, short, { kind: "revoked" } as const]) {
        const { wallets, done } = stage(result);
        const held = wallets.hold(holdRequest("c", 5));
        t.equal(held instanceof Promise, isLate);
        t.strictSame(await held, result);
        t.strictSame(done, ["hold"]);
      }
    });

    t.test("loads a wallet, then the purses that the call names", async (t) => {
      const { wallets, done } = stage(UNKNOWN, HELD);
      t.strictSame(await wallets.hold({ ...holdRequest("c", 5), purses: PURSES }), HELD);
      t.strictSame(done, ["hold", "load A", "load A day", "load A month", "hold"]);
    });

    t.test("throws for a purse that no call can have", async (t) => {
      const { wallets, done } = stage(HELD);
      const names = ["a|b", "a=b", "wallet", "", "x".repeat(101)];
      const wrong = [
        ...names.map((name) => [{ name, limitMicroVnd: 1 }]),
        ...[-1, 0.5, Number.NaN].map((limitMicroVnd) => [{ name: "day", limitMicroVnd }]),
        [...PURSES, ...PURSES],
        Array.from({ length: 9 }, (_, n) => ({ name: `b${n}`, limitMicroVnd: 1 })),
      ];
      for (const purses of wrong)
        t.throws(() => wallets.hold({ ...holdRequest("c", 5), purses }), RangeError);
      t.strictSame(done, []);
    });

    t.test("has no account if the ledger has none", async (t) => {
      const none = Object.assign(stage(UNKNOWN), { wallet: undefined });
      t.strictSame(await none.wallets.hold(holdRequest("c", 5)), { kind: "no_account" });
      t.strictSame(none.done, ["hold", "load A"]);
    });

    t.test("is unavailable after three loads that did not help", async (t) => {
      const { wallets, done } = stage(UNKNOWN);
      t.match(await wallets.hold(holdRequest("c", 5)), {
        kind: "unavailable",
        reason: /^cannot load the wallet: the load did not finish within 5000 ms$/,
      });
      t.strictSame(done, ["hold", ...Array.from({ length: 3 }, () => ["load A", "hold"]).flat()]);
    });

    t.test("is unavailable if the load fails, and says why", async (t) => {
      const away = stage(UNKNOWN);
      away.onLoad = () => Promise.reject(new Error("away"));
      t.strictSame(await away.wallets.hold(holdRequest("c", 5)), {
        kind: "unavailable",
        reason: "cannot load the wallet: away",
      });
    });

    t.test("is unavailable if the load takes too long", async (t) => {
      const slow = stage(UNKNOWN);
      slow.onLoad = () => new Promise(() => {});
      const held = Promise.resolve(slow.wallets.hold(holdRequest("c", 5)));
      let isDone = false;
      void held.then(() => {
        isDone = true;
      });
      await slow.machine.advance(0);
      await slow.machine.advance(LIFETIMES.loadTimeoutMs - 1);
      t.equal(isDone, false);
      await slow.machine.advance(1);
      t.match(await held, { kind: "unavailable", reason: /did not finish within 5000 ms/ });
    });
  });
}

t.test("the parts of a wallet come from the hold store, or else from the ledger", async (t) => {
  const loaded = { availableMicroVnd: 1, heldMicroVnd: 2, uncommittedMicroVnd: 4 };
  const read = (balances: typeof loaded | undefined, wallet: WalletSnapshot | undefined) => {
    const holdStore = { balances: async () => balances } as unknown as HoldStore;
    const ledger = { wallet: async () => wallet } as unknown as Ledger;
    return createStoredWallets({ holdStore, ledger }).balances("A");
  };
  t.strictSame(await read(loaded, undefined), { ...loaded, balanceMicroVnd: 7 });
  t.strictSame(await read(undefined, WALLET), {
    ...{ availableMicroVnd: 9, heldMicroVnd: 0, uncommittedMicroVnd: 0, balanceMicroVnd: 9 },
  });
  t.equal(await read(undefined, undefined), undefined);
});
