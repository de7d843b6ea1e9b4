import t from "tap";
import { walletOf } from "../../../../core/money/embedded/wallet.ts";
import { EmbeddedWallets } from "../../../../core/money/embedded/wallets.ts";
import type { CreditTotal, WalletSnapshot } from "../../../../core/money/hold-store.ts";

/** Wallets and purses of a page. */
const PAGE = 1_000;

function snapshot(accountId: string, balance = 100): WalletSnapshot {
  const amounts = { balanceMicroVnd: BigInt(balance), creditedMicroVnd: BigInt(balance) };
  return { accountId, creditVersion: 1, ...amounts };
}

function purse(accountId: string, spent: number): WalletSnapshot {
  return { accountId, balanceMicroVnd: BigInt(-spent), creditVersion: 0, creditedMicroVnd: 0n };
}

const total = (creditVersion: number, credited: number, accountId = "A"): CreditTotal => ({
  ...{ accountId, creditVersion, creditedMicroVnd: BigInt(credited) },
});

async function loaded(...accountIds: string[]): Promise<EmbeddedWallets> {
  const wallets = new EmbeddedWallets(async () => {});
  for (const accountId of accountIds) {
    await wallets.load(accountId, async () => snapshot(accountId));
  }
  return wallets;
}

t.test("a loaded wallet has its balance, and counts what credits do not cover", (t) => {
  const read = { balanceMicroVnd: 1n, creditVersion: 3, creditedMicroVnd: 7n };
  t.match(walletOf({ accountId: "A", ...read }), {
    key: "A",
    creditVersion: 3,
    creditedMicroVnd: 7n,
  });
  t.equal(walletOf({ accountId: "A", ...read, uncoveredMicroVnd: 2n }).creditedMicroVnd, 9n);
  const tooLow = { ...read, balanceMicroVnd: -(2n ** 53n) };
  t.throws(() => walletOf({ accountId: "A", ...tooLow }), RangeError);
  t.end();
});

t.test("a wallet is read once the ledger has all calls, and once for all that ask", async (t) => {
  const order: string[] = [];
  let commit = () => {};
  const wallets = new EmbeddedWallets(() => {
    order.push("waits");
    return new Promise((resolve) => {
      commit = resolve;
    });
  });
  const read = async () => {
    order.push("reads");
    return snapshot("A");
  };
  const loads = [wallets.load("A", read), wallets.load("A", read)];
  t.strictSame([order, wallets.get("A")], [["waits"], undefined]);
  t.equal(wallets.forget(), false, "one is being loaded");
  commit();
  t.strictSame(await Promise.all(loads), [true, true]);
  t.equal(await wallets.load("A", read), true);
  t.strictSame(order, ["waits", "reads"]);
  t.equal(wallets.forget(), true);
  t.equal(wallets.balances("A"), undefined);
});

t.test("a wallet that is unknown or cannot be read is not loaded, and is read again", async (t) => {
  const wallets = new EmbeddedWallets(async () => {});
  t.equal(await wallets.load("A", async () => undefined), false);
  await t.rejects(
    wallets.load("A", () => Promise.reject(new Error("away"))),
    /away/,
  );
  t.equal(wallets.balances("A"), undefined);
  t.equal(wallets.forget(), true, "none is being loaded");
  t.equal(await wallets.load("A", async () => snapshot("A")), true);
  const wallet = wallets.get("A");
  if (wallet === undefined) return t.fail("not loaded");
  wallets.close(wallet);
  t.equal(wallets.get("A"), undefined);
});

t.test("a movement during a load applies if it is newer than what was read", async (t) => {
  // Versions and totals in the order of arrival | what is available
  const table: [[number, number][], number][] = [
    [[[2, 150]], 150],
    [
      [
        [3, 170],
        [2, 150],
      ],
      170,
    ],
    [
      [
        [2, 150],
        [3, 170],
      ],
      170,
    ],
    [[[1, 999]], 100],
  ];
  for (const [movements, available] of table) {
    const wallets = new EmbeddedWallets(async () => {});
    const load = wallets.load("A", async () => snapshot("A"));
    for (const [version, credited] of movements) {
      t.equal(wallets.credit(total(version, credited)), true);
    }
    await load;
    t.equal(wallets.balances("A")?.availableMicroVnd, available, JSON.stringify(movements));
  }
});

t.test("a movement takes no more than is available", async (t) => {
  const wallets = await loaded("A");
  const wallet = wallets.get("A");
  if (wallet === undefined) return t.fail("not loaded");
  Object.assign(wallet, { availableMicroVnd: 70, heldMicroVnd: 30 });
  t.equal(wallets.credit(total(2, 29)), false, "71 of 70");
  t.match(wallet, { availableMicroVnd: 70, creditVersion: 1, creditedMicroVnd: 100n });
  t.equal(wallets.credit(total(2, 30)), true);
  t.match(wallet, { availableMicroVnd: 0, creditVersion: 2, creditedMicroVnd: 30n });
  t.equal(wallets.credit(total(1, 500)), true, "an older one changes nothing");
  t.match(wallet, { availableMicroVnd: 0, creditVersion: 2, creditedMicroVnd: 30n });
  t.equal(wallets.credit(total(9, 9, "B")), true);
});

t.test("a movement that makes a wallet too large to count is refused", async (t) => {
  const wallets = await loaded("A");
  const most = Number.MAX_SAFE_INTEGER;
  t.throws(() => wallets.credit(total(2, most * 2)), RangeError);
  t.match(wallets.get("A"), { availableMicroVnd: 100, creditVersion: 1 });
});

t.test("a purse is loaded, closed and read beside its wallet, and counts below zero", async (t) => {
  const wallets = await loaded("A", "B");
  t.equal(await wallets.load("A", async () => purse("A", 40), "day"), true);
  const spent = { availableMicroVnd: -40, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
  t.strictSame(wallets.balances("A", "day"), spent);
  for (const [accountId, name] of [
    ["A", "month"],
    ["B", "day"],
  ] as const) {
    t.equal(wallets.balances(accountId, name), undefined);
  }
  const day = wallets.get("A", "day");
  if (day === undefined) return t.fail("not loaded");
  wallets.close(day);
  t.equal(wallets.balances("A", "day"), undefined);
  t.equal(wallets.balances("A")?.availableMicroVnd, 100);
});

t.test("the versions of wallets, and the purses, come in pages", async (t) => {
  for (const [count, pages] of [
    [0, [0]],
    [PAGE - 1, [PAGE - 1]],
    [PAGE, [PAGE, 0]],
    [PAGE + 1, [PAGE, 1]],
  ] as const) {
    const ids = Array.from({ length: count }, (_, at) => `a${at}`);
    const wallets = await loaded(...ids);
    const found = [...wallets.versions()];
    t.strictSame(
      found.map(({ length }) => length),
      pages,
    );
    t.strictSame(
      found.flat().map(({ accountId }) => accountId),
      ids,
    );
  }
  const wallets = await loaded("A", "B");
  await wallets.load("A", async () => purse("A", 5), "day");
  t.strictSame([...wallets.versions()].flat(), [
    { accountId: "A", purse: null, version: 1 },
    { accountId: "B", purse: null, version: 1 },
    { accountId: "A", purse: "day", version: 0 },
  ]);
  const names: string[] = [];
  const all = wallets.all();
  for (let each = all.next(); !each.done; each = all.next()) names.push(each.value.accountId);
  t.strictSame(names, ["A", "B", "A"]);
});
