import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import { factorsOf, NO_FACTORS, ONE } from "../../../core/catalogue/price-factors.ts";
import { Tariff } from "../../../core/money/tariff.ts";
import type { Held } from "../../../core/plugin/call.ts";
import { type Call, Usage } from "../../../core/plugin/index.ts";
import { certainCharge } from "../../../plugins/settle/posting.ts";
import { pushCost } from "../../../plugins/settle/price-headers.ts";

const PRICE = {
  microVnd: 36_000,
  factors: NO_FACTORS,
  discountBps: 0,
  discounts: null,
  catalogueVersion: "",
};

const catalogue = new Catalogue([]);

function served(report: Partial<Usage>): Call {
  const usage = Object.assign(new Usage(), report);
  const call = { status: 200, delivered: true, outcome: "complete", usage, estimated: false };
  return call as unknown as Call;
}

t.test("a reply shows the tokens that have prices of their own", async (t) => {
  const report = { inputTokens: 9, cacheReadTokens: 4, cacheWriteTokens: 3, outputTokens: 1 };
  const call = Object.assign(served(report), { replyHeaders: [] as string[] });
  const factors = factorsOf({ cached_input: 0.1, cache_write: 1.25 });
  const charge = new Tariff({ ...PRICE, factors, unit: "mtok" }).chargeOf(call);
  pushCost(call, charge, { chargedMicroVnd: 7, writtenOffMicroVnd: 0, duplicate: false }, "x-");
  t.strictSame(call.replyHeaders, [
    ...["x-cached-input-tokens", "4", "x-cache-write-tokens", "3"],
    ...["x-cost-vnd", "0.000007"],
  ]);
});

t.test("a call whose cost no amount can express", async (t) => {
  for (const [unit, report, held, costMicroVnd] of [
    [
      "mtok",
      { outputTokens: Number.MAX_SAFE_INTEGER },
      { baseQuantity: 10 * ONE, outputTokens: 20 },
      30,
    ],
    ["mtok", { inputTokens: Number.NaN }, { baseQuantity: 10 * ONE, outputTokens: 20 }, 30],
    ["image", { images: Number.MAX_SAFE_INTEGER }, { baseQuantity: 2 * ONE, outputTokens: 0 }, 2],
  ] as const) {
    t.test(`is charged what was held for it: ${unit} ${JSON.stringify(report)}`, async (t) => {
      const call = served(report);
      const faults: unknown[] = [];
      const tariff = new Tariff({ ...PRICE, unit });
      const hold: Held = { ...held, tariff, catalogue, feesMicroVnd: 0, outputTokensMax: 20 };
      const charge = certainCharge(call, hold, (error) => faults.push(error));
      t.equal(charge.costMicroVnd, costMicroVnd * PRICE.microVnd);
      t.equal(call.estimated, true);
      t.match(faults, [/out of range/]);
    });
  }
});

t.test("a call with a usual cost is charged that cost", async (t) => {
  const call = served({ inputTokens: 3, outputTokens: 4 });
  const tariff = new Tariff({ ...PRICE, unit: "mtok" });
  const base = { baseQuantity: 100 * ONE, feesMicroVnd: 0 };
  const held: Held = { tariff, catalogue, ...base, outputTokens: 100, outputTokensMax: 100 };
  const charge = certainCharge(call, held, (error) => t.fail(String(error)));
  t.equal(charge.costMicroVnd, 7 * PRICE.microVnd);
  t.equal(call.estimated, false);
});
