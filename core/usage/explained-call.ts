import { formatVnd } from "../catalogue/amount.ts";
import {
  countsOf,
  factorsOf,
  ONE,
  PRICE_KINDS,
  type PriceKind,
} from "../catalogue/price-factors.ts";
import type { FoundCall } from "../money/found-call.ts";
import { type Recomputed, recomputed } from "../money/tariff.ts";
import type { CustomerRecord } from "../money/usage-fields.ts";
import { type Api, usageJson } from "./usage-json.ts";

/**
 * Explains the cost of a call: its record, and the charge computed again from the record alone.
 * `is_equal` says if `recomputed_vnd` equals `cost_vnd`.
 *
 * This checks the arithmetic of one record. `reconcile` checks that records and ledger rows agree.
 */
export function explainedCall(
  { state, record, reason }: Omit<FoundCall, "record"> & { readonly record: CustomerRecord },
  api: Api,
): object {
  const again = recomputed(record);
  return {
    ...usageJson(record, api),
    state,
    ...(reason !== undefined && api === "admin" && { reason }),
    recomputed_vnd: formatVnd(again.chargedMicroVnd),
    is_equal: BigInt(again.chargedMicroVnd) === record.chargedMicroVnd,
    calculation: calculation(record, again),
  };
}

function calculation(record: CustomerRecord, again: Recomputed): object {
  return {
    formula: formulaOf(record, again),
    quantity: again.quantity / ONE,
    unit: record.unit,
    unit_price_vnd: formatVnd(record.unitPriceMicroVnd),
    parts: partsOf(record, again),
    list_vnd: formatVnd(again.listMicroVnd),
    discounts: record.discounts ?? {},
    discount_bps: again.discountBps,
    discount_vnd: formatVnd(again.discountMicroVnd),
    fees_vnd: formatVnd(again.feesMicroVnd),
    cost_before_write_off_vnd: formatVnd(again.costMicroVnd),
    written_off_vnd: formatVnd(record.writtenOffMicroVnd),
    charged_vnd: formatVnd(record.chargedMicroVnd),
  };
}

interface Part {
  readonly kind: PriceKind;
  readonly count: number;
  readonly factor: number;
}

function partsOf(record: CustomerRecord, { quantity }: Recomputed): Part[] {
  if (quantity === 0) return [];
  const { unit } = record;
  const factors = factorsOf(record.factors);
  const { input, cached_input, cache_write } = factors;
  // If all input has one factor, the caches say nothing about the cost.
  const isSplit = cached_input !== input || cache_write !== input;
  const caches = isSplit ? record : { cacheReadTokens: 0, cacheWriteTokens: 0 };
  const counts = countsOf(unit, { ...record, ...caches });
  return PRICE_KINDS[unit]
    .filter((kind) => counts[kind] > 0 || !CACHES.has(kind))
    .map((kind) => ({ kind, count: counts[kind], factor: factors[kind] / ONE }));
}

const CACHES = new Set<PriceKind>(["cached_input", "cache_write"]);

const UNITS = { mtok: "tokens", call: "calls", image: "images" } as const;

/**
 * Returns `1500 tokens (1000 in, 500 out) × 36000 đ / 1000000 = 54 đ; less 2% (account 1%, daily
 * 1%) = 52.92 đ`. With factors, the tokens are `1140 tokens (600 in, 400 cached × 0.1, 500 out)`. Also says if tokens
 * are an estimate, and why a call costs nothing.
 */
function formulaOf(record: CustomerRecord, again: Recomputed): string {
  const { unit, unitPriceMicroVnd } = record;
  const price = `${formatVnd(unitPriceMicroVnd)} đ${unit === "mtok" ? " / 1000000" : ""}`;
  const quantity = `${again.quantity / ONE} ${UNITS[unit]}${noteOf(record, again)}`;
  const steps = [`${quantity} × ${price} = ${formatVnd(again.listMicroVnd)} đ`];
  if (again.discountBps > 0) {
    const parts = Object.entries(record.discounts ?? {}).map(
      ([name, bps]) => `${name} ${bps / 100}%`,
    );
    const priced = formatVnd(again.listMicroVnd - again.discountMicroVnd);
    steps.push(`less ${again.discountBps / 100}% (${parts.join(", ")}) = ${priced} đ`);
  }
  if (again.feesMicroVnd > 0) {
    steps.push(
      `plus fees of ${formatVnd(again.feesMicroVnd)} đ = ${formatVnd(again.costMicroVnd)} đ`,
    );
  }
  if (record.writtenOffMicroVnd > 0n) {
    const writtenOff = formatVnd(record.writtenOffMicroVnd);
    steps.push(`less ${writtenOff} đ written off = ${formatVnd(again.chargedMicroVnd)} đ`);
  }
  return steps.join("; ");
}

const KINDS: Readonly<Record<PriceKind, string>> = {
  input: " in",
  cached_input: " cached",
  cache_write: " written to the cache",
  output: " out",
  per_call: "",
  per_image: "",
};

function noteOf(record: CustomerRecord, again: Recomputed): string {
  const { unit, estimated, outcome, status } = record;
  if (again.quantity === 0) return ` (nothing to charge: ${outcome}, status ${status})`;
  const notes = partsOf(record, again)
    .filter(({ factor }) => unit === "mtok" || factor !== 1)
    .map(({ kind, count, factor }) => count + KINDS[kind] + (factor === 1 ? "" : ` × ${factor}`));
  if (estimated && unit !== "call") notes.push("estimated");
  const left = LEFT.get(outcome);
  if (left) notes.push(left);
  return notes.length > 0 ? ` (${notes.join(", ")})` : "";
}

/** The part of the reply that a call is charged for, if its client left. */
const LEFT: ReadonlyMap<string, string> = new Map([
  ["left", "all of the reply: the client left, and the provider finished it"],
  ["gone", "until the client left and the call was stopped"],
]);
