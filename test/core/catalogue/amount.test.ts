import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  cost,
  discounted,
  formatVnd,
  MICRO_VND_MAX,
  parseVnd,
} from "../../../core/catalogue/amount.ts";

const amount = fc.integer({ min: 0, max: MICRO_VND_MAX });

t.test("a cost is an exact product, or rejected", async (t) => {
  t.equal(cost(1_000_000, 55_000), 55_000_000_000);
  t.equal(cost(0, 55_000), 0);
  for (const [units, price] of [
    [2 ** 27, 2 ** 26],
    [1.5, 1],
    [-1, 5],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 0],
  ] as const) {
    assert.throws(() => cost(units, price), RangeError, `${units} × ${price}`);
  }
});

t.test("every cost is exact or rejected", async () => {
  const factor = fc.integer({ min: 0, max: 2 ** 40 });
  fc.assert(
    fc.property(factor, factor, (units, price) => {
      const exact = BigInt(units) * BigInt(price);
      if (exact > BigInt(MICRO_VND_MAX)) assert.throws(() => cost(units, price), RangeError);
      else assert.equal(BigInt(cost(units, price)), exact);
    }),
  );
});

t.test("a discount is applied once and rounded half up", async (t) => {
  t.equal(discounted(1_000_000, 0), 1_000_000);
  t.equal(discounted(1_000_000, 200), 980_000);
  t.equal(discounted(50, 100), 50); // 49.5
  t.equal(discounted(49, 100), 49); // 48.51
  t.equal(discounted(1, 5_000), 1); // 0.5
  t.equal(discounted(1, 5_001), 0); // 0.4999
  t.equal(discounted(MICRO_VND_MAX, 10_000), 0);
});

t.test("every discount is exact to the µđ, up to the largest amount", async () => {
  fc.assert(
    fc.property(amount, fc.integer({ min: 0, max: 10_000 }), (micro, bps) => {
      const exact = (BigInt(micro) * BigInt(10_000 - bps) + 5_000n) / 10_000n;
      assert.equal(BigInt(discounted(micro, bps)), exact);
    }),
  );
});

t.test("amounts are formatted as decimals without trailing zeros", async (t) => {
  for (const [micro, text] of [
    [0n, "0"],
    [1n, "0.000001"],
    [1_500_000n, "1.5"],
    [-1_500_000n, "-1.5"],
    [-1n, "-0.000001"],
    [50_000_000_000n, "50000"],
    [9_007_199_254_740_991n, "9007199254.740991"],
  ] as const) {
    t.equal(formatVnd(micro), text);
    t.equal(parseVnd(text), micro);
  }
  t.equal(formatVnd(1_500_000), "1.5");
});

t.test("a formatted amount parses to the same value", async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }), (micro) => {
      assert.equal(parseVnd(formatVnd(micro)), micro);
    }),
  );
});

t.test("only decimals of at most six places are amounts", async (t) => {
  for (const text of [
    "",
    "-",
    ".",
    ".5",
    "5.",
    "1.1234567",
    "1e3",
    "0x10",
    "+5",
    " 5",
    "5 ",
    "1,000",
    "1 000",
    "NaN",
    "--1",
    "1.-5",
    "5\n",
    "٣",
    "1234567890123",
  ]) {
    t.equal(parseVnd(text), undefined, JSON.stringify(text));
  }
});
