import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { Catalogue, type Model } from "../../../core/catalogue/catalogue.ts";
import { NO_FACTORS } from "../../../core/catalogue/price-factors.ts";
import { catalogueOf, checkCatalogue, dearCalls } from "../../../core/config/catalogue-review.ts";
import { formatProblems, Problems } from "../../../core/config/problem.ts";
import { readSource } from "../../../core/config/read-source.ts";
import { packageRoot } from "../../../core/process/root.ts";

const PROTOCOLS = new Set(["messages", "chat", "responses", "images", "speech"]);
const UPSTREAMS = [
  "anthropic",
  "openai",
  "google",
  "xai",
  "deepseek",
  "alibaba",
  "moonshot",
  "zai",
  "minimax",
  "aws",
  "aws-mantle",
  "aws-mantle-openai",
];

async function shipped(): Promise<Catalogue> {
  const problems = new Problems();
  const source = await readSource(join(packageRoot, "config/catalogue.yaml"), {}, problems);
  assert.ok(source);
  const upstreams = new Map(UPSTREAMS.map((name) => [name, PROTOCOLS]));
  const checked = checkCatalogue(source, upstreams);
  const catalogue = checked && catalogueOf(checked);
  assert.ok(catalogue && !problems.found, formatProblems(problems.list()));
  return catalogue;
}

/** Names that providers have retired, by their pages of deprecations. */
const RETIRED = {
  openai: ["gpt-4.1-nano", "o4-mini"], // 2026-10-23
  google: ["gemini-2.5-pro", "gemini-2.5-flash"], // 2026-12-01: newer models serve them, at their own rates
  moonshot: ["kimi-k2.5"], // 2026-08-31
  alibaba: ["qwen3-coder-plus"], // 2026-10
};

const catalogue = await shipped();
const { models } = catalogue;
const ids = models.map(({ id }) => id);
const perToken = models.filter(({ price }) => price.unit === "mtok");
const perCall = models.filter(({ price }) => price.unit !== "mtok");
const isGeneration5 = ({ id }: Model) =>
  /^(?:req\/|svc\/)?claude-(?:fable|opus|sonnet|haiku)-5(?:-\d+)?$/.test(id);

t.test("the shipped catalogue", async (t) => {
  t.test("has 102 models: 23 on the AWS channel, 38 priced per call, 41 others", async (t) => {
    t.equal(models.length, 102);
    t.equal(new Set(ids).size, 102);
    t.equal(models.filter(({ channel }) => channel === "aws").length, 23);
    t.equal(perCall.length, 38);
    t.equal(ids.filter((id) => !id.includes("/")).length, 41);
  });

  t.test(
    "leads to no name that its provider has shut down, or serves by another model",
    async (t) => {
      const routes = models.flatMap(({ routes }) => routes);
      for (const [upstream, names] of Object.entries(RETIRED)) {
        const sold = routes
          .filter((route) => route.upstream === upstream)
          .map(({ model }) => model);
        t.strictSame(
          names.filter((name) => sold.includes(name)),
          [],
          upstream,
        );
      }
    },
  );

  t.test("marks channel and price unit in the id", async (t) => {
    for (const { id, channel, price } of models) {
      t.equal(id.startsWith("svc/"), channel === "aws", id);
      t.equal(id.startsWith("req/"), price.unit !== "mtok", id);
    }
  });

  t.test("has token prices from 1,500 to 55,000 đ inclusive", async (t) => {
    const prices = perToken.map(({ price }) => price.vnd);
    t.equal(Math.min(...prices), 1500);
    t.equal(Math.max(...prices), 55_000);
  });

  t.test("has prices per call from 230 to 1,350 đ inclusive", async (t) => {
    const prices = perCall.map(({ price }) => price.vnd);
    t.equal(Math.min(...prices), 230);
    t.equal(Math.max(...prices), 1350);
  });

  t.test(
    "has one image model at 1,000 đ an image, and one speech model at 1,350 đ a call",
    async (t) => {
      const other = models.filter(({ standard }) => standard === "images" || standard === "speech");
      t.strictSame(
        other.map(({ id, standard, price }) => [id, standard, price]),
        [
          [
            "req/gpt-image-2",
            "images",
            { unit: "image", vnd: 1000, microVnd: 1_000_000_000, factors: NO_FACTORS },
          ],
          [
            "req/gpt-4o-mini-tts",
            "speech",
            { unit: "call", vnd: 1350, microVnd: 1_350_000_000, factors: NO_FACTORS },
          ],
        ],
      );
    },
  );

  t.test("has the context windows of the specification and no others", async (t) => {
    const windows = new Set(models.map(({ contextWindow }) => contextWindow));
    const wanted = [196_000, 200_000, 256_000, 500_000, 1_000_000, 1_050_000, undefined];
    t.strictSame(windows, new Set(wanted));
    t.equal(catalogue.get("req/gpt-image-2")?.contextWindow, undefined);
    t.equal(catalogue.get("claude-haiku-4-5")?.contextWindow, 200_000);
  });

  t.test("gives the top family 1,000,000 tokens of context and 128,000 of output", async (t) => {
    const top = models.filter((model) => isGeneration5(model) && model.price.unit === "mtok");
    t.ok(top.length >= 8);
    for (const { id, contextWindow, maxOutputTokens } of top) {
      t.strictSame([id, contextWindow, maxOutputTokens], [id, 1_000_000, 128_000]);
    }
    for (const { id, contextWindow, maxOutputTokens, standard } of models) {
      if (standard === "images" || standard === "speech") continue;
      t.ok(contextWindow && maxOutputTokens && maxOutputTokens <= contextWindow, id);
    }
  });

  t.test("limits calls at a fixed price to what that buys by the token", async (t) => {
    t.equal(dearCalls(catalogue), undefined);
    const chats = perCall.filter(({ standard }) => standard === "messages" || standard === "chat");
    t.equal(chats.length, 36);
    for (const { id, inputTokensMax = 0 } of chats) t.ok(inputTokensMax >= 20_000, id);
  });

  t.test("has only ids of public model families", async (t) => {
    const families =
      /^(?:req\/|svc\/)?(?:claude|gpt|o\d|gemini|grok|deepseek|qwen|kimi|glm|minimax|mistral|devstral)[\w.-]*$/i;
    for (const id of ids) t.match(id, families);
  });

  t.test("serves both chat protocols, and gives every chat model tools and streams", async (t) => {
    const standards = new Set(models.map(({ standard }) => standard));
    t.strictSame(standards, new Set(["messages", "chat", "images", "speech"]));
    for (const { id, labels, standard } of models) {
      if (standard === "images" || standard === "speech") continue;
      t.ok(labels.has("tools") && labels.has("streaming"), id);
    }
  });

  t.test("routes the AWS channel, and nothing else, to the upstream aws", async (t) => {
    for (const { id, channel, routes } of models) {
      for (const { upstream } of routes) t.equal(upstream.startsWith("aws"), channel === "aws", id);
    }
  });
});

t.test("a model in memory", async (t) => {
  t.test("is priced in whole µđ: đ per million tokens equals µđ per token", async (t) => {
    for (const { price } of perToken) t.equal(price.microVnd, price.vnd);
    for (const { price } of perCall) t.equal(price.microVnd, price.vnd * 1_000_000);
  });

  t.test("is found by its exact id only", async (t) => {
    t.equal(catalogue.get("claude-opus-5-5")?.id, "claude-opus-5-5");
    t.equal(catalogue.get("opus"), undefined);
    t.equal(new Catalogue([]).get("claude-opus-5-5"), undefined);
  });

  t.test("has routes with weight 1 and priority 0 by default", async (t) => {
    const text = await readFile(join(packageRoot, "config/catalogue.yaml"), "utf8");
    t.ok(!text.includes("weight:"));
    const { upstream, model, weight, priority } = catalogue.get("grok-4.5")?.routes[0] ?? {};
    t.strictSame(
      { upstream, model, weight, priority },
      { upstream: "xai", model: "grok-4.5", weight: 1, priority: 0 },
    );
  });
});
