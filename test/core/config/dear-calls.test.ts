import t from "tap";
import { Catalogue, type Model } from "../../../core/catalogue/catalogue.ts";
import { dearCalls } from "../../../core/config/catalogue-review.ts";
import { modelOf, priced } from "../../support/plugin-desk.ts";

const route = (upstream: string, model: string) => ({
  ...{ upstream, model, weight: 1, priority: 0, profile: {}, features: {} },
});

/** A model with a window of 10,000 tokens and 1,000 of output, at a price in đ. */
function entry(
  id: string,
  unit: "mtok" | "call",
  vnd: number,
  changes: Partial<Model> = {},
): Model {
  return modelOf({
    ...{ id, price: priced(unit, vnd), contextWindow: 10_000, maxOutputTokens: 1_000 },
    routes: [route("main", "m")],
    ...changes,
  });
}

/** 10,000 tokens cost 200 đ. */
const byToken = entry("m", "mtok", 20_000);

t.test("a price per call that is below the cost of its largest call gets a warning", async (t) => {
  const warningOf = (...models: Model[]) => dearCalls(new Catalogue(models));
  t.equal(
    warningOf(byToken, entry("req/m", "call", 199)),
    "by the prices per token of the same routes, a call can cost more than it brings: " +
      "req/m (up to 200 đ for 199 đ); lower input_tokens_max and max_output_tokens",
  );
  const limited = { inputTokensMax: 4_000 };
  const dearOutput = { price: priced("mtok", 20_000, { output: 5 }) };
  const table: [what: string, models: Model[], warning: RegExp | undefined][] = [
    ["a price that pays for all", [byToken, entry("a", "call", 200)], undefined],
    ["4,000 tokens of input and 1,000", [byToken, entry("a", "call", 100, limited)], undefined],
    ["they cost 100 đ", [byToken, entry("a", "call", 99, limited)], /a \(up to 100 đ for 99 đ\)/],
    [
      "output at five times the price",
      [entry("m", "mtok", 0, dearOutput), entry("a", "call", 179, limited)],
      /up to 180 đ for 179 đ/,
    ],
    [
      "half a price per call",
      [byToken, entry("a", "call", 0, { price: priced("call", 300, { per_call: 0.5 }) })],
      /up to 200 đ for 150 đ/,
    ],
    ["no price per token", [entry("a", "call", 1)], undefined],
    [
      "another route",
      [byToken, entry("a", "call", 1, { routes: [route("main", "b")] })],
      undefined,
    ],
    ["the cheaper of two", [byToken, entry("n", "mtok", 9_000), entry("a", "call", 90)], undefined],
  ];
  for (const [what, models, warning] of table) {
    if (warning) t.match(warningOf(...models), warning, what);
    else t.equal(warningOf(...models), undefined, what);
  }
  const many = Array.from({ length: 7 }, (_, at) => entry(`req/${at}`, "call", 1));
  t.match(warningOf(byToken, ...many), /req\/4 \(up to 200 đ for 1 đ\) and 2 more; lower/);
  const withheld = new Catalogue([entry("req/m", "call", 1)], [byToken]);
  t.match(dearCalls(withheld), /req\/m/, "a price per token counts, though it is not offered");
});
