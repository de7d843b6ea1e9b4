import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { MICRO_VND_MAX } from "../../../core/catalogue/amount.ts";
import {
  factorsOf,
  NO_FACTORS,
  ONE,
  productOf,
  quantityOf,
  type StatedFactors,
  times,
} from "../../../core/catalogue/price-factors.ts";
import { priceOf, Tariff } from "../../../core/money/tariff.ts";
import { Usage } from "../../../core/wire/usage/usage.ts";
import { amountFor, baseOf, outputFor } from "../../../plugins/settle/bounds.ts";
import { modelOf, preparedCall, priced } from "../../support/plugin-desk.ts";

/** A price per token of `microVnd`, with these factors and this discount. */
function tariffOf(microVnd: number, stated: StatedFactors | null = null, discountBps = 0): Tariff {
  return new Tariff({
    ...{ unit: "mtok", microVnd, factors: factorsOf(stated) },
    ...{ discountBps, discounts: null, catalogueVersion: "" },
  });
}

function usageOf(report: Partial<Usage>): Usage {
  return Object.assign(new Usage(), report);
}

/** The cost of a call that is billed whole, in µđ. */
function costOf(report: Partial<Usage>, tariff: Tariff): number {
  const usage = usageOf(report);
  const reply = { status: 200, delivered: true, deliveredTokens: 0, taken: false } as const;
  return tariff.chargeOf({ ...reply, outcome: "complete", usage }).costMicroVnd;
}

const tokens = fc.integer({ min: 0, max: 2_000_000 });
const discount = fc.integer({ min: 0, max: 10_000 });
const unitPrice = fc.integer({ min: 1, max: 100_000 });
const factor = fc.integer({ min: 1_000, max: 100 * ONE }).map((micro) => micro / ONE);
const stated = fc.record(
  { input: factor, cached_input: factor, cache_write: factor, output: factor },
  { requiredKeys: [] },
);
/** The tokens of a call: its caches are parts of its input. */
const counted = fc
  .record({
    fresh: tokens,
    cacheReadTokens: tokens,
    cacheWriteTokens: tokens,
    outputTokens: tokens,
  })
  .map(({ fresh, ...parts }) => ({
    ...parts,
    inputTokens: fresh + parts.cacheReadTokens + parts.cacheWriteTokens,
  }));

t.test(
  "the price of a quantity is exact, less the discount, and rounded half up once",
  async (t) => {
    // Tokens | their factor | µđ a token | discount in basis points | µđ
    const table: [number, number, number, number, number][] = [
      [1_000_000, 1, 55_000, 0, 55_000_000_000],
      [0, 1, 55_000, 0, 0],
      [1, 1, 1_000_000, 200, 980_000],
      [1, 1, 50, 100, 50], // 49.5
      [1, 1, 49, 100, 49], // 48.51
      [1, 1, 1, 5_000, 1], // 0.5
      [1, 1, 1, 5_001, 0], // 0.4999
      [1, 0.1, 36_000, 0, 3_600],
      [3, 0.125, 1_501, 0, 563], // 562.875
      [1, 0.25, 2, 0, 1], // 0.5
      [1, 0.25, 2, 1, 0], // 0.49995
      [1, 0.3, 5, 5_000, 1], // 0.75; rounded twice it would be 1.5, then 1
      [3, 0.5, 1, 5_000, 1], // 0.75; rounded before the discount it would be 2, then 1
      [1, 0.5, 1, 5_000, 0], // 0.25; rounded before the discount it would be 1, then 1
    ];
    for (const [count, factor, microVnd, discountBps, price] of table) {
      const quantity = count * Math.round(factor * ONE);
      t.equal(priceOf(quantity, { microVnd, discountBps }), price, `${count} × ${factor}`);
    }
  },
);

t.test("a price that no amount can express is refused", async () => {
  for (const [quantity, microVnd] of [
    [MICRO_VND_MAX, 2 * ONE],
    [2 ** 53, 0],
    [1.5, 1],
    [-1, 5 * ONE],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 0],
  ] as const) {
    const price = () => priceOf(quantity, { microVnd, discountBps: 0 });
    assert.throws(price, { name: "RangeError", message: /out of range/ }, `${quantity}`);
  }
});

t.test("the price of whole units is exact, also beyond what a number counts", async () => {
  const count = fc.integer({ min: 0, max: Math.floor(MICRO_VND_MAX / ONE) });
  const price = fc.integer({ min: 0, max: 1_000_000 });
  fc.assert(
    fc.property(count, price, discount, (units, microVnd, bps) => {
      const exact = (BigInt(units) * BigInt(microVnd) * BigInt(10_000 - bps) + 5_000n) / 10_000n;
      assert.equal(BigInt(priceOf(units * ONE, { microVnd, discountBps: bps })), exact);
    }),
    { numRuns: 2_000 },
  );
});

t.test("a call at a fixed price that broke off is charged for nothing, fees neither", async (t) => {
  const perCall = new Tariff({
    ...{ unit: "call", microVnd: 50, factors: NO_FACTORS },
    ...{ discountBps: 0, discounts: null, catalogueVersion: "" },
  });
  const usage = usageOf({ inputTokens: 1_000, outputTokens: 10 });
  const reply = { usage, status: 200, delivered: true, deliveredTokens: 10, taken: true };
  const charge = (outcome: "broken" | "complete") => perCall.chargeOf({ ...reply, outcome }, 7_000);
  t.match(charge("complete"), { quantity: null, feesMicroVnd: 7_000, costMicroVnd: 7_050 });
  t.match(charge("broken"), { quantity: 0, feesMicroVnd: null, costMicroVnd: 0 });
});

t.test("without factors the price is that of all tokens together", async () => {
  fc.assert(
    fc.property(counted, unitPrice, discount, (usage, microVnd, bps) => {
      const all = BigInt(usage.inputTokens + usage.outputTokens) * BigInt(microVnd);
      const exact = (all * BigInt(10_000 - bps) + 5_000n) / 10_000n;
      assert.equal(BigInt(costOf(usage, tariffOf(microVnd, null, bps))), exact);
      // Factors that are stated and 1 are no factors.
      const ones = { input: 1, cached_input: 1, cache_write: 1, output: 1 };
      assert.equal(factorsOf(ones), NO_FACTORS);
    }),
  );
});

t.test("an amount affords what it pays for, and not a millionth more", async () => {
  const amount = fc.integer({ min: 0, max: 10 ** 13 });
  fc.assert(
    fc.property(amount, unitPrice, discount, (microVnd, price, bps) => {
      const tariff = tariffOf(price, null, bps);
      const quantity = tariff.affordable(microVnd);
      if (bps === 10_000) return assert.equal(quantity, Number.MAX_SAFE_INTEGER);
      assert.ok(priceOf(quantity, tariff) <= microVnd);
      if (quantity === Number.MAX_SAFE_INTEGER) return;
      const exact = BigInt(quantity + 1) * BigInt(price) * BigInt(10_000 - bps);
      assert.ok(exact > BigInt(microVnd) * 10_000n * BigInt(ONE));
    }),
  );
});

t.test("a hold covers the charge of every call that stays within its estimate", async () => {
  const surcharge = fc.record({
    holdTokens: fc.integer({ min: 0, max: 1_000 }),
    holdFeesVnd: fc.integer({ min: 0, max: 1_000 }),
    factor: fc.constantFrom(1, 1.5, 2.123456),
  });
  fc.assert(
    fc.property(
      counted,
      stated,
      unitPrice,
      discount,
      surcharge,
      (usage, factors, price, bps, more) => {
        const model = modelOf({ price: priced("mtok", times(price, more.factor), factors) });
        const tariff = tariffOf(model.price.microVnd, factors, bps);
        const call = preparedCall({ inputTokensBound: usage.inputTokens });
        call.surcharge = { ...more, fees: new Map(), unbounded: false };
        const { quantity, feesMicroVnd } = baseOf(call, model, tariff);
        const held = { tariff, baseQuantity: quantity, feesMicroVnd };
        const amount = amountFor(held, usage.outputTokens);
        assert.ok(costOf(usage, tariff) + feesMicroVnd <= amount);
        // The amount affords the output that it was taken for, but for half a µđ of rounding.
        const token = amountFor({ ...held, baseQuantity: 0, feesMicroVnd: 0 }, 1);
        if (token > 0) assert.ok(outputFor(held, amount) >= usage.outputTokens - 1);
        // Output within what a smaller amount affords is covered by that amount.
        const less = Math.max(feesMicroVnd, Math.floor(amount / 2));
        const output = outputFor(held, less);
        if (output >= 0 && bps < 10_000) {
          const cost = costOf({ ...usage, outputTokens: output }, tariff);
          assert.ok(cost + feesMicroVnd <= less);
        }
      },
    ),
  );
});

t.test("each token has one factor, whatever the parts of the input are", async (t) => {
  const tariff = tariffOf(1_000, { cached_input: 0.1, cache_write: 1.25, output: 4 });
  const table: [Partial<Usage>, number][] = [
    [{ inputTokens: 100, outputTokens: 10 }, 140],
    [{ inputTokens: 100, cacheReadTokens: 40, outputTokens: 10 }, 104],
    [{ inputTokens: 100, cacheReadTokens: 40, cacheWriteTokens: 20 }, 69],
    [{ inputTokens: 100, cacheReadTokens: 100 }, 10],
    // More than there is: the input counts once.
    [{ inputTokens: 100, cacheReadTokens: 500 }, 10],
    [{ inputTokens: 100, cacheReadTokens: 90, cacheWriteTokens: 90 }, 21.5],
  ];
  for (const [usage, expected] of table) {
    t.equal(costOf(usage, tariff), expected * 1_000, JSON.stringify(usage));
  }
});

t.test("a price per call or per image has a factor of its own, and none of tokens", async (t) => {
  const factors = factorsOf({ per_call: 0.5, per_image: 2 });
  const usage = usageOf({ inputTokens: 100, outputTokens: 100, images: 3 });
  t.equal(quantityOf("call", usage, factors), 0.5 * ONE);
  t.equal(quantityOf("image", usage, factors), 6 * ONE);
});

t.test(
  "a price with a factor is exact, and rounded up only if it is no whole number",
  async (t) => {
    t.equal(times(55_000, 1.1), 60_500);
    t.equal(times(36, 1.01), 37);
    t.equal(times(36, 1), 36);
    t.equal(productOf(1.1, 1.1), 1.21);
    t.equal(productOf(1.123456, 1.123456), 1.262154);
    fc.assert(
      fc.property(unitPrice, factor, (microVnd, by) => {
        const exact = BigInt(microVnd) * BigInt(Math.round(by * ONE));
        assert.equal(BigInt(times(microVnd, by)), (exact + 999_999n) / 1_000_000n);
      }),
    );
  },
);
