import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cost,
  discounted,
  formatVnd,
  MICRO_VND_MAX,
  parseVnd,
} from "../../../core/contract/amount.ts";

const amount = fc.integer({ min: 0, max: MICRO_VND_MAX });

test("a cost is an exact product, or refused", () => {
  assert.equal(cost(1_000_000, 55_000), 55_000_000_000);
  assert.equal(cost(0, 55_000), 0);
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

test("every cost is exact or refused", () => {
  const factor = fc.integer({ min: 0, max: 2 ** 40 });
  fc.assert(
    fc.property(factor, factor, (units, price) => {
      const exact = BigInt(units) * BigInt(price);
      if (exact > BigInt(MICRO_VND_MAX)) assert.throws(() => cost(units, price), RangeError);
      else assert.equal(BigInt(cost(units, price)), exact);
    }),
  );
});

test("a discount is taken once and rounded half up", () => {
  assert.equal(discounted(1_000_000, 0), 1_000_000);
  assert.equal(discounted(1_000_000, 200), 980_000);
  assert.equal(discounted(50, 100), 50); // 49.5
  assert.equal(discounted(49, 100), 49); // 48.51
  assert.equal(discounted(1, 5_000), 1); // 0.5
  assert.equal(discounted(1, 5_001), 0); // 0.4999
  assert.equal(discounted(MICRO_VND_MAX, 10_000), 0);
});

test("every discount is exact to the µđ, up to the largest amount", () => {
  fc.assert(
    fc.property(amount, fc.integer({ min: 0, max: 10_000 }), (micro, bps) => {
      const exact = (BigInt(micro) * BigInt(10_000 - bps) + 5_000n) / 10_000n;
      assert.equal(BigInt(discounted(micro, bps)), exact);
    }),
  );
});

test("amounts are written as decimals without needless zeros", () => {
  for (const [micro, text] of [
    [0n, "0"],
    [1n, "0.000001"],
    [1_500_000n, "1.5"],
    [-1_500_000n, "-1.5"],
    [-1n, "-0.000001"],
    [50_000_000_000n, "50000"],
    [9_007_199_254_740_991n, "9007199254.740991"],
  ] as const) {
    assert.equal(formatVnd(micro), text);
    assert.equal(parseVnd(text), micro);
  }
  assert.equal(formatVnd(1_500_000), "1.5");
});

test("what is written is read again", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }), (micro) => {
      assert.equal(parseVnd(formatVnd(micro)), micro);
    }),
  );
});

test("what is no decimal of at most six places is no amount", () => {
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
    assert.equal(parseVnd(text), undefined, JSON.stringify(text));
  }
});
