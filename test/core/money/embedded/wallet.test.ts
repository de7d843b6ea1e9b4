import t from "tap";
import {
  balancesOf,
  charge,
  chargeable,
  giveBackHold,
  type HeldPurse,
  isIdle,
  raiseHold,
  shortOf,
  takeHold,
  type Wallet,
  walletOf,
} from "../../../../core/money/embedded/wallet.ts";

const IDLE_MS = 1_000;
const LIMIT = 900;

/** A wallet with 1,000 µđ. */
function wallet(): Wallet {
  return walletOf({
    ...{ accountId: "A", balanceMicroVnd: 1_000n, creditVersion: 3, creditedMicroVnd: 5_000n },
  });
}

/** A purse of which a limit of 900 µđ leaves so much. */
function purse(name: string, left: number): HeldPurse {
  const amounts = { balanceMicroVnd: BigInt(left - LIMIT), creditVersion: 0, creditedMicroVnd: 0n };
  const key = `A|${name}`;
  return { name, purse: walletOf({ accountId: "A", ...amounts }, key), limitMicroVnd: LIMIT };
}

/** Returns available, held and uncommitted of a wallet, then of each purse: what its limit leaves of it. */
function amounts(of: Wallet, ...purses: HeldPurse[]): number[][] {
  const left = purses.map(({ purse, limitMicroVnd }) => {
    const { availableMicroVnd, ...rest } = balancesOf(purse);
    return { ...rest, availableMicroVnd: limitMicroVnd + availableMicroVnd };
  });
  return [balancesOf(of), ...left].map((each) => [
    ...[each.availableMicroVnd, each.heldMicroVnd, each.uncommittedMicroVnd],
  ]);
}

t.test("a loaded wallet has its balance, and counts what credits do not cover", async (t) => {
  t.match(wallet(), { key: "A", creditVersion: 3, creditedMicroVnd: 5_000n });
  const more = { balanceMicroVnd: 1n, creditVersion: 1, creditedMicroVnd: 7n };
  t.equal(walletOf({ accountId: "A", ...more, uncoveredMicroVnd: 2n }).creditedMicroVnd, 9n);
  const tooLow = { ...more, balanceMicroVnd: -(2n ** 53n) };
  t.throws(() => walletOf({ accountId: "A", ...tooLow }), RangeError);
});

t.test("a hold takes the amount, or what wallet and purses leave from the floor on", async (t) => {
  // Left of the purse | amount, floor | held, undefined for none
  const table: [number, number, number, number | undefined][] = [
    [900, 600, 600, 600],
    [900, 900, 900, 900],
    [900, 901, 901, undefined],
    [900, 5_000, 900, 900],
    [900, 5_000, 901, undefined],
    [300, 600, 100, 300],
    [0, 600, 0, 0],
    [-50, 600, 0, undefined],
  ];
  for (const [left, amount, floor, held] of table) {
    const from = wallet();
    const day = purse("day", left);
    const hold = takeHold(from, [day], amount, floor, 77);
    const what = `${left} ${amount} ${floor}`;
    t.equal(hold?.amountMicroVnd, held, what);
    const taken = held ?? 0;
    t.strictSame(amounts(from, day), [
      [1_000 - taken, taken, 0],
      [left - taken, taken, 0],
    ]);
    if (hold) t.equal(hold.sinceMs, 77);
  }
});

t.test("a raised hold says if it was raised, and never falls", async (t) => {
  const from = wallet();
  const day = purse("day", 500);
  const hold = takeHold(from, [day], 200, 200, 0);
  if (hold === undefined) return t.fail("no hold");
  t.equal(raiseHold(hold, 300, 300), true);
  t.equal(raiseHold(hold, 501, 501), false);
  t.strictSame(amounts(from, day), [
    [700, 300, 0],
    [200, 300, 0],
  ]);
  t.equal(raiseHold(hold, 100, 100), true, "it holds more than that");
  t.equal(hold.amountMicroVnd, 300);
  // Other calls were charged beyond their holds.
  charge(day.purse, [], 300, 0);
  t.equal(raiseHold(hold, 400, 0), true);
  t.equal(hold.amountMicroVnd, 300, "the purse affords less than nothing");
  charge(day.purse, [], 700, 0);
  t.equal(raiseHold(hold, 400, 0), false);
  t.equal(raiseHold(hold, 300, 300), false);
  for (const wrong of [-1, 0.5]) {
    t.throws(() => raiseHold(hold, wrong, 0), RangeError);
    t.throws(() => raiseHold(hold, 1, wrong), RangeError);
  }
  giveBackHold(hold);
  t.strictSame(amounts(from, day), [
    [1_000, 0, 0],
    [-500, 0, 1_000],
  ]);
});

t.test("a charge leaves its hold, and can be taken back", async (t) => {
  for (const [charged, available] of [
    [150, 850],
    [400, 600],
  ] as const) {
    const from = wallet();
    const day = purse("day", 500);
    takeHold(from, [day], 200, 200, 0);
    charge(from, [day.purse], charged, 200);
    t.strictSame(amounts(from, day), [
      [available, 0, charged],
      [500 - charged, 0, charged],
    ]);
    charge(from, [day.purse], -charged, -200);
    t.strictSame(amounts(from, day), [
      [800, 200, 0],
      [300, 200, 0],
    ]);
  }
});

t.test("a charge is at most the hold and what is available", async (t) => {
  t.equal(chargeable(wallet(), 1_200, 300), 1_200);
  t.equal(chargeable(wallet(), 1_301, 300), 1_300);
});

t.test("the purse that affords least is named; the wallet if none affords less", async (t) => {
  const from = { ...wallet(), availableMicroVnd: 850 };
  const [month, day, week] = [purse("month", 850), purse("day", 300), purse("week", 300)];
  const short = { kind: "short", purse: "day", availableMicroVnd: 300 } as const;
  t.strictSame(shortOf(from, [month, day, week]), short);
  t.match(shortOf(from, [month]), { purse: "wallet", availableMicroVnd: 850 });
});

t.test("a wallet is idle once two looks that far apart found the same amount", async (t) => {
  const from = wallet();
  const look = (nowMs: number) => isIdle(from, nowMs, IDLE_MS);
  t.equal(look(5_000), false, "the first look");
  t.equal(look(5_999), false);
  t.equal(look(6_000), true);
  from.availableMicroVnd += 1;
  t.equal(look(6_001), false, "a credit begins its time again");
  t.equal(look(7_001), true);
  for (const amount of ["heldMicroVnd", "uncommittedMicroVnd"] as const) {
    from[amount] = 1;
    t.equal(look(9_000), false, amount);
    from[amount] = 0;
  }
  t.equal(look(9_000), true);
});
