import type { Model } from "../catalogue/catalogue.ts";
import type { Surcharge } from "../catalogue/features.ts";
import { productOf } from "../catalogue/price-factors.ts";
import type { Call } from "../plugin/call.ts";
import type { Verdict } from "../plugin/plugin.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

/** Image options that can cost a provider more, and the values that do. */
const DEARER: Readonly<Record<string, ReadonlySet<unknown>>> = {
  quality: new Set(["high", "hd"]),
  input_fidelity: new Set(["high"]),
};

/**
 * Limits a call for images or speech to what its price covers: the size of an image, the length of
 * a text, and options. Prices sizes and options that the catalogue lists with a factor. Returns the
 * names of dearer options that it left out, since the catalogue does not list them.
 */
export function mediaTerms(call: Call, model: Model): string[] | Verdict {
  if (call.endpoint.protocol === "speech") return tooLong(call, model);
  const factor = sizeFactor(call, model);
  return typeof factor === "number" ? priceOptions(call, model, factor) : factor;
}

function tooLong({ body }: Call, { media }: Model): Verdict {
  const texts = [body.read("input"), body.read("instructions")];
  const length = texts.reduce<number>(
    (sum, text) => sum + (typeof text === "string" ? text.length : 0),
    0,
  );
  if (length <= media.charactersMax) return undefined;
  const message = `input: at most ${media.charactersMax} characters with instructions; split the text`;
  return refuse.badRequest(message, "input");
}

/**
 * An image whose size the provider chooses costs the price without a factor: providers choose
 * ordinary sizes.
 */
function sizeFactor({ body }: Call, { media }: Model): number | Refusal {
  const [width, height] = String(body.read("size") ?? "")
    .split("x")
    .map(Number);
  const pixels = (width || 0) * (height || 0);
  if (pixels <= media.pixelsMax) return 1;
  const fits = media.sizeFactors.find(({ pixels_max }) => pixels <= pixels_max);
  if (fits) return fits.factor;
  const most = media.sizeFactors.at(-1)?.pixels_max ?? media.pixelsMax;
  return refuse.badRequest(`size: at most ${most} pixels; ask for a smaller image`, "size");
}

function priceOptions(call: Call, { media }: Model, sizeFactor: number): string[] | Verdict {
  const { body } = call;
  let factor = sizeFactor;
  for (const [name, factors] of Object.entries(media.optionFactors)) {
    const given = body.read(name);
    const isOpen = given === undefined || given === null || given === "auto";
    const [first = ""] = Object.keys(factors);
    // If the provider may choose the value, it could choose the dearest.
    const value = isOpen && !("auto" in factors) ? first : String(given ?? "auto");
    if (!Object.hasOwn(factors, value)) {
      const known = Object.keys(factors).join(", ");
      return refuse.badRequest(`${name}: one of ${known} is required`, name);
    }
    if (isOpen && value !== "auto") body.set(name, value);
    factor = productOf(factor, factors[value] ?? 1);
  }
  if (factor !== 1) call.surcharge = { ...NOTHING_ELSE, factor };
  const left = Object.keys(DEARER).filter(
    (name) => !(name in media.optionFactors) && DEARER[name]?.has(body.read(name)),
  );
  for (const name of left) body.set(name, undefined);
  return left;
}

const NOTHING_ELSE: Surcharge = {
  factor: 1,
  fees: new Map(),
  holdTokens: 0,
  holdFeesVnd: 0,
  unbounded: false,
};
