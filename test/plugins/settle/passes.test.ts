import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import type { Held } from "../../../core/plugin/call.ts";
import type { Call, Model } from "../../../core/plugin/index.ts";
import { otherPasses } from "../../../plugins/settle/passes.ts";
import { priced } from "../../support/plugin-desk.ts";

function entry(id: string, microVnd: number, name: string, upstream = "anthropic"): Model {
  const price = priced("mtok", microVnd);
  return { id, price, routes: [{ upstream, model: name }] } as unknown as Model;
}

/** Entries that share the names of their models at the provider. */
const cheap = entry("promo/opus", 10, "opus");
const opus = entry("opus", 36, "opus");
const team = entry("team/opus", 50, "opus");
const fable = entry("fable", 55, "fable-1");
const dearFable = entry("team/fable", 70, "fable-1");
const elsewhere = entry("aws/opus", 90, "opus", "aws");
/** Its id is the name of another entry's model. */
const twin = entry("haiku", 20, "haiku-2");
const haiku = entry("small", 30, "haiku");
const entries = [cheap, opus, team, dearFable, fable, elsewhere, twin, haiku];
const catalogue = new Catalogue(entries);

/** Returns what one pass of 100 tokens costs beside the main one, if `model` serves the call. */
function costOf(model: Model, pass: string | null, upstream = "anthropic", more = {}): number {
  const cache = { cacheReadTokens: 0, cacheWriteTokens: 0 };
  const passes = [{ model: pass, inputTokens: 60, outputTokens: 40, ...cache }];
  const call = { model, route: { upstream }, usage: { passes }, surcharge: undefined, ...more };
  const held = { tariff: { unit: "mtok", discountBps: 0 }, catalogue };
  const { usage, microVnd } = otherPasses(call as unknown as Call, held as unknown as Held);
  const tokens = usage ? usage.inputTokens + usage.outputTokens : 0;
  return microVnd / (tokens || 1);
}

t.test(
  "a pass of the model of the call costs its price, though others share its name",
  async (t) => {
    for (const model of [cheap, opus, team]) t.equal(costOf(model, "opus"), 0, model.id);
    t.equal(costOf(opus, null), 0);
  },
);

t.test(
  "a pass of the same model after a reload of the catalogue costs no other price",
  async (t) => {
    t.equal(costOf(entry("team/opus", 40, "opus"), "opus"), 0);
    t.equal(costOf(entry("opus", 40, "opus-latest"), "opus"), 0);
  },
);

t.test("a pass of another model costs the price of the entry of that name", async (t) => {
  t.equal(costOf(fable, "opus"), 36);
  t.equal(costOf(elsewhere, "opus", "aws"), 0);
  t.equal(costOf(opus, "fable-1"), 70, "the first of those that share a name");
  t.equal(costOf(opus, "fable"), 55, "by its id, if the provider knows no such name");
  t.equal(costOf(opus, "haiku"), 30, "the provider's name comes before an id");
  t.equal(costOf(opus, "unlisted"), 0);
});

t.test("a pass of another model costs as many times its price as the call does", async (t) => {
  t.equal(costOf(fable, "opus", "anthropic", { surcharge: { factor: 1.5 } }), 54);
  t.equal(costOf(fable, "opus", "anthropic", { surcharge: { factor: 1.01 } }), 37, "rounded up");
});

t.test("a pass of another model costs that model's price for each kind of token", async (t) => {
  const price = priced("mtok", 40, { cached_input: 0.1, output: 2 });
  const advisor = { ...entry("advisor", 40, "advisor"), price };
  const pass = { model: "advisor", inputTokens: 60, outputTokens: 40, cacheWriteTokens: 0 };
  const usage = { passes: [{ ...pass, cacheReadTokens: 50 }] };
  const call = { model: opus, route: { upstream: "anthropic" }, usage, surcharge: undefined };
  const tariff = { unit: "mtok", discountBps: 0 };
  const held = { tariff, catalogue: new Catalogue([opus, advisor]) } as unknown as Held;
  const others = otherPasses(call as unknown as Call, held);
  t.match(others.usage, { inputTokens: 60, cacheReadTokens: 50, outputTokens: 40 });
  t.equal(others.microVnd, (10 + 50 * 0.1 + 40 * 2) * 40);
});

t.test("a call without a report of its usage has no other passes", async (t) => {
  t.equal(costOf(fable, "opus", "anthropic", { usage: undefined }), 0);
});
