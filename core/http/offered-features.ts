import { isReference } from "../body/form.ts";
import type { Model, Route } from "../catalogue/catalogue.ts";
import {
  type AllowedFeatures,
  FEATURES,
  type FeatureName,
  type FeatureTerms,
  type Surcharge,
} from "../catalogue/features.ts";
import { ONE, productOf, times } from "../catalogue/price-factors.ts";
import { mergeProfiles } from "../catalogue/profile.ts";
import type { Call } from "../plugin/call.ts";
import { beyond } from "../plugin/model-names.ts";
import type { Plugin, Verdict } from "../plugin/plugin.ts";
import type { Services } from "../plugin/services.ts";
import { countOf, type JsonObject } from "../process/json.ts";
import { EVENT_BYTES_MAX } from "../sse/reader.ts";
import {
  betaFor,
  choiceOfLeftOut,
  featureOfBeta,
  fieldsBeyond,
  fieldsWith,
} from "../wire/features/betas.ts";
import { type Use, usesIn } from "../wire/features/find.ts";
import { misspelledIn } from "../wire/features/names.ts";
import { ANSWERS, MISSPELLED, type Row, STORE } from "../wire/features/table.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { wires } from "../wire/wires.ts";

type Parts = Pick<Services, "upstreams" | "config" | "log">;

const LEFT_OUT_MAX = 32;
const HEADER_SAFE = /^[A-Za-z0-9_.:=-]{1,64}$/;

/**
 * Lets only priced features go upstream: leaves out or refuses every feature of a call that the config does not allow.
 * Runs before the request is translated, so that native and translated calls are treated alike, and before money is
 * held. At the end, reports uses of others: a request asked for one in a way that is not known here, or the provider
 * uses it without being asked.
 */
export function offeredFeatures(services: Parts): Plugin {
  return {
    name: "core: offered features",

    request(call): Verdict {
      const { model, endpoint } = call;
      const refusal = model && beyond(model, call);
      if (refusal) return refusal;
      if (endpoint.conversation === undefined) {
        const left =
          nameFault(call.body.outline, model) ?? (model && mediaTerms(call, model, services));
        if (!Array.isArray(left)) return left;
        reportLeftOut(call, left, services.config.headers.prefix);
        return undefined;
      }
      const betas = betasOf(call, services);
      if (!betas) return UNSENDABLE;
      const find = (fields: JsonObject) =>
        usesIn(fields, endpoint.protocol, services.config.images.privateAddresses);
      const fields = { ...call.body.outline };
      const uses = find(fields);
      if (model?.price.unit === "call" && wires[endpoint.protocol].choices(call.body) > 1) {
        return refusalOf(ANSWERS, "n");
      }
      if (uses.length === 0 && betas.every(({ feature }) => feature === "free")) {
        if (betas.length > 0) forward(call, betas);
        return undefined;
      }
      return new Decision(call, model, services, find).decide(fields, uses, betas);
    },

    close(call): void {
      const { usage, route, model } = call;
      if (!usage?.uses || !route) return;
      const allowed = allowedOn(route, model, services);
      const unsold = Object.entries(usage.uses).filter(([name]) => !(name in allowed));
      if (unsold.length === 0) return;
      call.hasUnsoldUses = true;
      const uses = Object.fromEntries(unsold);
      const { id, key } = call;
      const { upstream } = route;
      services.log.error(
        { call_id: id, account_id: key?.accountId, model: model?.id, upstream, uses },
        "a provider reports uses of features that are not sold; the call is charged for its tokens alone",
      );
    },
  };
}

/** Refuses a name that a provider may read as another one: in a form, `n[]` is a list of `n`. */
function nameFault(body: JsonObject, model: Model | undefined): Refusal | undefined {
  for (const name in body) {
    const field = /^\w*/.exec(name)?.[0] ?? "";
    if (field === name) continue;
    return refuse.badRequest(`${field}: send it once, under its own name without []`, field);
  }
  const misspelled = misspelledIn(body, Object.keys(model?.media.optionFactors ?? {}));
  return misspelled === undefined ? undefined : refusalOf(MISSPELLED, misspelled);
}

interface Beta {
  readonly name: string;
  readonly feature: FeatureName | "free" | undefined;
}

const NO_BETAS: readonly Beta[] = [];
const UNSENDABLE = refuse.badRequest(
  "The header of betas has characters that cannot be sent on. Use printable ASCII.",
);

/** Returns undefined if the header cannot be sent on. */
function betasOf(
  { endpoint, headers, model }: Call,
  { upstreams }: Parts,
): readonly Beta[] | undefined {
  const header = headers[endpoint.betaHeader ?? ""];
  if (header === undefined) return NO_BETAS;
  if (/[^\t\x20-\x7e]/.test(header)) return undefined;
  const names = header.split(",").map((beta) => beta.trim());
  const profiles = (model?.routes ?? []).map(({ upstream, profile }) =>
    mergeProfiles(upstreams.get(upstream)?.config.profile, profile),
  );
  const isTaken = (beta: string) => profiles.every((profile) => betaFor(beta, profile) !== null);
  return names.flatMap((beta) =>
    beta === "" ? [] : [{ name: beta, feature: isTaken(beta) ? featureOfBeta(beta) : undefined }],
  );
}

function forward(call: Call, betas: readonly Beta[]): void {
  const { betaHeader } = call.endpoint;
  if (betaHeader === undefined || betas.length === 0) return;
  call.betaHeaders = [betaHeader, betas.map(({ name }) => name).join(",")];
}

const ENCRYPTED_REASONING = "reasoning.encrypted_content";

/**
 * Asks for the reasoning itself, encrypted, if the provider does not keep it: clients send back the items of a reply,
 * and an item without its content could not be found there.
 */
function returnReasoning(body: JsonObject, { endpoint, model }: Call): void {
  if (endpoint.protocol !== "responses" || !model?.labels.has("reasoning")) return;
  const { include } = body;
  const wanted = Array.isArray(include) ? include : [];
  if (!wanted.includes(ENCRYPTED_REASONING)) body["include"] = [...wanted, ENCRYPTED_REASONING];
}

/** Returns the features that a route sells, by the narrowest of the three places that may say so. */
function allowedOn(route: Route, model: Model | undefined, { upstreams }: Parts): AllowedFeatures {
  const ofUpstream = upstreams.get(route.upstream)?.config.features;
  return { ...ofUpstream, ...model?.features, ...route.features };
}

class Decision {
  private readonly routes: readonly Route[];
  private readonly allowed: ReadonlyMap<Route, AllowedFeatures>;
  private readonly prefix: string;

  constructor(
    private readonly call: Call,
    model: Model | undefined,
    services: Parts,
    private readonly find: (fields: JsonObject) => readonly Use[],
  ) {
    this.routes = model?.routes ?? [];
    this.prefix = services.config.headers.prefix;
    this.allowed = new Map(this.routes.map((route) => [route, allowedOn(route, model, services)]));
  }

  /** `fields` is a copy of the body's, from which `uses` leave parts out. */
  decide(fields: JsonObject, uses: readonly Use[], betas: readonly Beta[]): Verdict {
    const demands = uses.filter(({ row }) => row.rule === "demand");
    const routes = this.routes.filter((route) =>
      demands.every(({ row }) => this.allows(route, row.feature)),
    );
    if (routes.length === 0) {
      const isSold = ({ row }: Use) => this.routes.some((route) => this.allows(route, row.feature));
      const refused = demands.find((use) => !isSold(use)) ?? demands[0];
      if (refused) return refusalOf(refused.row, refused.path);
    }
    const sold = (feature: Row["feature"]) =>
      routes.length > 0 && routes.every((route) => this.allows(route, feature));
    const mayGo = ({ feature }: Beta) => feature === "free" || sold(feature);
    const goes = betas.filter(mayGo);
    const left = [
      ...uses.filter(({ row }) => row.rule !== "demand" && !sold(row.feature)),
      ...(goes.length < betas.length ? this.fieldsWithout(goes, fields) : []),
    ];
    const tools = new Set(left.flatMap(({ tool }) => (tool ? [tool] : [])));
    const { body } = this.call;
    // Bytes can be passed on with other fields, but not with changes inside of a field.
    if (body.isBytes && left.some(({ leaveOut, isTop }) => leaveOut && !isTop)) {
      const whole = body.rewrite();
      return this.decide(whole, this.find(whole), betas);
    }
    const chosen = this.leaveOut(left, tools, fields);
    const at = left.find(({ tool }) => tool !== undefined && tool === chosen);
    if (at) return refusalOf(at.row, "tool_choice");

    forward(this.call, goes);
    const names = left.filter(({ row }) => row.rule === "optional").map(({ name }) => name);
    reportLeftOut(
      this.call,
      [...names, ...betas.filter((beta) => !mayGo(beta)).map(({ name }) => name)],
      this.prefix,
    );

    const used = new Set<FeatureName>();
    for (const { row } of uses) if (row.feature && sold(row.feature)) used.add(row.feature);
    for (const { feature } of betas)
      if (feature && feature !== "free" && sold(feature)) used.add(feature);
    if (used.size === 0) return undefined;
    this.call.excludedRoutes = this.routes.filter((route) => !routes.includes(route));
    this.call.surcharge = surchargeOf(
      used,
      routes.map((route) => this.allowed.get(route) ?? {}),
    );
    return undefined;
  }

  /** Returns the parts of the body that the provider refuses if only these betas go. */
  private fieldsWithout(goes: readonly Beta[], fields: JsonObject): readonly Use[] {
    const { endpoint, body } = this.call;
    if (endpoint.protocol !== "messages") return [];
    const allowed = fieldsWith(goes.map(({ name }) => name));
    if (body.turns?.names.some((name) => !allowed.has(`messages.${name}`))) body.read("messages");
    return fieldsBeyond(allowed, fields);
  }

  /** Removes features from the body itself. Returns a tool among them that must be called. */
  private leaveOut(
    left: readonly Use[],
    tools: ReadonlySet<JsonObject>,
    fields: JsonObject,
  ): JsonObject | undefined {
    if (left.length === 0) return undefined;
    for (const leaveOut of new Set(left.map((use) => use.leaveOut))) leaveOut?.(tools);
    if (left.some(({ row }) => row === STORE)) returnReasoning(fields, this.call);
    const chosen = choiceOfLeftOut(fields, tools);
    this.call.body.setAll(fields);
    return chosen;
  }

  private allows(route: Route, feature: Row["feature"]): boolean {
    return feature !== undefined && this.allowed.get(route)?.[feature] !== undefined;
  }
}

/** Names the features that were left out in a header. Names may come from the client, so unsafe ones are skipped. */
function reportLeftOut(call: Call, names: readonly string[], prefix: string): void {
  const safe = [...new Set(names)].filter((name) => HEADER_SAFE.test(name));
  if (safe.length === 0) return;
  call.replyHeaders.push(`${prefix}left-out`, safe.slice(0, LEFT_OUT_MAX).join(","));
}

function refusalOf({ why, instead }: Row, path: string): Refusal {
  const param = /^[A-Za-z0-9_]*/.exec(path)?.[0] ?? null;
  const code = "unsupported_parameter";
  return refuse.badRequest(`${path}: ${why}; ${instead}`, { param, code });
}

/**
 * Returns what the features of a call add to its price. Routes may sell a feature on different terms. The price is the
 * highest of them, so that it does not depend on the route that serves.
 */
function surchargeOf(
  used: ReadonlySet<FeatureName>,
  routes: readonly AllowedFeatures[],
): Surcharge {
  const fees = new Map<FeatureName, number>();
  let factor = 1;
  let holdTokens = 0;
  let holdFeesVnd = 0;
  let unbounded = false;
  for (const name of used) {
    const terms = routes.flatMap((allowed) => allowed[name] ?? []);
    const most = (value: (one: FeatureTerms) => number) => Math.max(...terms.map(value));
    const dearest = most((one) => one.factor);
    factor = productOf(factor, dearest);
    holdTokens += most((one) => one.hold_tokens);
    holdFeesVnd += most((one) => one.fees * one.hold_uses);
    const fee = most((one) => one.fees);
    if (fee > 0) fees.set(name, fee);
    unbounded ||= "unbounded" in FEATURES[name];
  }
  return { factor, fees, holdTokens, holdFeesVnd, unbounded };
}

/** Each partial image costs 100 output tokens (developers.openai.com, image generation). */
const PARTS = "partial_images";

/** Image options that can cost a provider more, and the values that are known not to: each model may bring dearer ones. */
const PLAIN: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["quality", new Set(["auto", "low", "medium", "standard"])],
  ["input_fidelity", new Set(["auto", "low"])],
  // xAI prices an image by it.
  ["resolution", new Set(["auto", "1k"])],
  [PARTS, new Set(["0"])],
]);

/**
 * Limits a call for images or speech, which are not priced by the token, to what its price covers: the size of an
 * image, the length of a text, and options. Prices sizes and options that the catalogue lists with a factor. Returns
 * the names of options that it left out, since they may be dearer and the catalogue does not list them.
 */
function mediaTerms(
  call: Call,
  model: Model,
  { config }: Pick<Parts, "config">,
): string[] | Verdict {
  const { protocol } = call.endpoint;
  if (protocol === "embeddings") return undefined;
  if (protocol === "speech") return tooLong(call, model);
  const factor = sizeFactor(call, model);
  if (typeof factor !== "number") return factor;
  return tooLarge(call, config.limits.replyBytesMax) ?? priceOptions(call, model, factor);
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

/** Returns 0 if the provider chooses the size. */
function pixelsOf({ body }: Call): number {
  const [width, height] = String(body.read("size") ?? "")
    .split("x")
    .map(Number);
  return (width || 0) * (height || 0);
}

/** An image whose size the provider chooses costs the price without a factor: providers choose ordinary sizes. */
function sizeFactor(call: Call, { media }: Model): number | Refusal {
  const pixels = pixelsOf(call);
  if (pixels <= media.pixelsMax) return 1;
  const fits = media.sizeFactors.find(({ pixels_max }) => pixels <= pixels_max);
  if (fits) return fits.factor;
  const most = media.sizeFactors.at(-1)?.pixels_max ?? media.pixelsMax;
  return refuse.badRequest(`size: at most ${most} pixels; ask for a smaller image`, "size");
}

/** The largest size that providers choose themselves: 1024x1536. */
const ORDINARY_PIXELS = 1_572_864;
/** Base64 of a PNG: at most three bytes a pixel, in four. Assumed of a JPEG or WebP: half of it. */
const PNG_BYTES_PER_PIXEL = 4;
const PACKED_BYTES_PER_PIXEL = 2;
/** A fourth byte for each pixel, and a little for the file. */
const TRANSPARENT = 1.335;

/** Refuses images that could be too large for one reply: such a reply is cut, and the provider has made them. */
function tooLarge(call: Call, replyBytesMax: number): Refusal | undefined {
  const { body } = call;
  if (body.read("response_format") === "url") return undefined;
  const isPacked = ["jpeg", "webp"].includes(optionOf(body.read("output_format")));
  const isTransparent = body.read("background") === "transparent";
  const perPixel = isPacked ? PACKED_BYTES_PER_PIXEL : PNG_BYTES_PER_PIXEL;
  const pixels = (pixelsOf(call) || ORDINARY_PIXELS) * (isTransparent ? TRANSPARENT : 1);
  const bytesEach = pixels * perPixel;
  const most = Math.floor((call.stream ? EVENT_BYTES_MAX : replyBytesMax) / bytesEach);
  if ((countOf(body.read("n")) ?? 1) <= most) return undefined;
  const fewer = most === 0 ? "a smaller one" : `at most ${most} at a time`;
  // A JPEG has no transparency.
  const packed = isPacked ? "" : `, or set output_format to ${isTransparent ? "webp" : "jpeg"}`;
  const field = most === 0 ? "size" : "n";
  const message = `${field}: images of this size may be too large for one reply; ask for ${fewer}${packed}`;
  return refuse.badRequest(message, field);
}

/** Returns what the reference images of an edit add to the factor. A provider reads them again for each image it makes. */
function referenceFactor(
  { endpoint, body, form }: Call,
  { referenceImages }: Model["media"],
): number {
  if (!endpoint.multipart || !referenceImages) return 0;
  let images = form?.filter(({ name }) => isReference(name)).length ?? 0;
  for (const name in body.outline) {
    if (!isReference(name)) continue;
    const given = body.read(name);
    images += Array.isArray(given) ? given.length : given == null ? 0 : 1;
  }
  const more = Math.max(0, images - referenceImages.included);
  return times(more * ONE, referenceImages.factor_each) / ONE;
}

/** The value of an option as a text; empty for an object, whose own `toString` may be anything. */
function optionOf(given: unknown): string {
  return typeof given === "object" ? "" : String(given);
}

function priceOptions(call: Call, { media }: Model, sizeFactor: number): string[] | Verdict {
  const { body } = call;
  // Partial images come in streams alone.
  const priced = Object.entries(media.optionFactors).filter(
    ([name]) => call.stream || name !== PARTS,
  );
  let factor = sizeFactor;
  for (const [name, factors] of priced) {
    const given = body.read(name);
    const isOpen = given === undefined || given === null || given === "auto";
    // A provider makes none that are not asked for.
    if (name === PARTS && isOpen) continue;
    const [first = ""] = Object.keys(factors);
    // If the provider may choose the value, it could choose the dearest.
    const value = isOpen && !("auto" in factors) ? first : optionOf(given ?? "auto");
    if (!Object.hasOwn(factors, value)) {
      const known = Object.keys(factors).join(", ");
      return refuse.badRequest(`${name}: one of ${known} is required`, name);
    }
    if (isOpen && value !== "auto") body.set(name, value);
    factor = productOf(factor, factors[value] ?? 1);
  }
  factor += referenceFactor(call, media);
  if (factor !== 1) call.surcharge = { ...surchargeOf(new Set(), []), factor };
  const left = [...PLAIN.keys()].filter((name) => {
    const given = body.read(name);
    if (given === undefined || given === null) return false;
    return !PLAIN.get(name)?.has(optionOf(given)) && !priced.some(([one]) => one === name);
  });
  for (const name of left) body.set(name, undefined);
  return left;
}
