import t from "tap";
import {
  acknowledge,
  balancesOf,
  charge,
  chargeable,
  findLimits,
  giveBackHold,
  isIdle,
  limitsOfPost,
  raiseHold,
  setLimit,
  shortOf,
  takeBackCharge,
  takeHold,
  type Wallet,
  walletOf,
} from "../../../../core/money/embedded/wallet.ts";

const IDLE_MS = 1_000;

/** A wallet with 1,000 µđ, and limits with what is left of each. */
function wallet(limits: Record<string, number> = {}): Wallet {
  const amounts = { balanceMicroVnd: 1_000n, creditVersion: 3, creditedMicroVnd: 5_000n };
  const loaded = walletOf({ accountId: "A", ...amounts });
  for (const [name, availableMicroVnd] of Object.entries(limits)) {
    setLimit(loaded, { name, version: 1, totalMicroVnd: 900, availableMicroVnd });
  }
  return loaded;
}

/** Returns available, held and uncommitted of a wallet, then of each of its limits. */
function amounts({ limits, ...of }: Wallet): number[][] {
  const all = [
    balancesOf({ limits, ...of }),
    ...[...(limits ?? [])].map(([, each]) => each.balances),
  ];
  return all.map((each) => [each.availableMicroVnd, each.heldMicroVnd, each.uncommittedMicroVnd]);
}

const limitsOf = (from: Wallet, ...names: string[]) => limitsOfPost(from, names);

t.test("a loaded wallet has its balance, and counts what credits do not cover", async (t) => {
  t.match(wallet(), { creditVersion: 3, creditedMicroVnd: 5_000n, limits: undefined });
  const more = { balanceMicroVnd: 1n, creditVersion: 1, creditedMicroVnd: 7n };
  t.equal(walletOf({ accountId: "A", ...more, uncoveredMicroVnd: 2n }).creditedMicroVnd, 9n);
  t.throws(() => walletOf({ accountId: "A", ...more, balanceMicroVnd: -1n }), RangeError);
});

t.test("a hold takes the amount, or what wallet and limits afford from the floor on", async (t) => {
  // Left in the limit | amount, floor | held, undefined for none
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
    const from = wallet({ day: left });
    const hold = takeHold(from, limitsOf(from, "day"), amount, floor, 77);
    const what = `${left} ${amount} ${floor}`;
    t.equal(hold?.amountMicroVnd, held, what);
    const taken = held ?? 0;
    t.strictSame(amounts(from), [
      [1_000 - taken, taken, 0],
      [left - taken, taken, 0],
    ]);
    if (hold) t.equal(hold.sinceMs, 77);
  }
});

t.test("a raised hold says if it was raised, and never falls", async (t) => {
  const from = wallet({ day: 500 });
  const hold = takeHold(from, limitsOf(from, "day"), 200, 200, 0);
  if (hold === undefined) return t.fail("no hold");
  t.equal(raiseHold(hold, 300, 300), true);
  t.equal(raiseHold(hold, 501, 501), false);
  t.strictSame(amounts(from), [
    [700, 300, 0],
    [200, 300, 0],
  ]);
  t.equal(raiseHold(hold, 100, 100), true, "it holds more than that");
  t.equal(hold.amountMicroVnd, 300);
  // The total was lowered: the limit is below zero.
  setLimit(from, { name: "day", version: 2, totalMicroVnd: 100, availableMicroVnd: 0 });
  t.equal(raiseHold(hold, 400, 0), false, "the limit affords less than nothing");
  t.equal(raiseHold(hold, 300, 300), false);
  for (const wrong of [-1, 0.5]) {
    t.throws(() => raiseHold(hold, wrong, 0), RangeError);
    t.throws(() => raiseHold(hold, 1, wrong), RangeError);
  }
  giveBackHold(hold);
  t.strictSame(amounts(from)[0], [1_000, 0, 0]);
  t.equal(amounts(from)[1]?.[1], 0);
});

t.test("a charge leaves its hold, and can be taken back or acknowledged", async (t) => {
  for (const [charged, available] of [
    [150, 850],
    [400, 600],
  ] as const) {
    const from = wallet({ day: 500, month: 600 });
    const day = limitsOf(from, "day");
    takeHold(from, day, 200, 200, 0);
    charge(from, day, charged, 200);
    t.strictSame(amounts(from), [
      [available, 0, charged],
      [500 - charged, 0, charged],
      [600, 0, 0],
    ]);
    takeBackCharge(from, day, charged, 200);
    t.strictSame(amounts(from), [
      [800, 200, 0],
      [300, 200, 0],
      [600, 0, 0],
    ]);
    charge(from, day, charged, 200);
    acknowledge(from, ["day", "unset"], charged);
    t.strictSame(amounts(from), [
      [available, 0, 0],
      [500 - charged, 0, 0],
      [600, 0, 0],
    ]);
  }
});

t.test("a charge is at most the hold and what is available", async (t) => {
  t.equal(chargeable(wallet(), 1_200, 300), 1_200);
  t.equal(chargeable(wallet(), 1_301, 300), 1_300);
});

t.test("the limit that affords least is named; the wallet if none affords less", async (t) => {
  const from = wallet({ day: 300, month: 1_000, week: 300 });
  const all = limitsOf(from, "month", "day", "week");
  t.match(shortOf(from, all), { kind: "short", limit: "day", availableMicroVnd: 300 });
  const month = limitsOf(from, "month");
  t.match(shortOf(from, month), { limit: "wallet", availableMicroVnd: 1_000 });
});

t.test("limits are found by name; a hold needs each, and a post those that are set", async (t) => {
  const from = wallet({ day: 300, month: 400 });
  t.strictSame([findLimits(from, undefined), findLimits(from, [])], [[], []]);
  t.equal(findLimits(from, ["day", "week", "year"]), "week");
  t.equal(findLimits(wallet(), ["day"]), "day");
  t.equal(findLimits(from, ["month", "day"]).length, 2);
  t.equal(limitsOfPost(from, ["week", "day"]).length, 1);
  t.strictSame(limitsOfPost(from, null), []);
  t.strictSame(limitsOfPost(undefined, ["day"]), []);
  t.strictSame(limitsOfPost(wallet(), ["day"]), []);
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
