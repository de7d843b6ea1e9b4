import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readCatalogue } from "../../../core/config/catalogue-review.ts";
import { formatProblems, Problems } from "../../../core/config/problem.ts";
import { readYaml } from "../../../core/config/yaml.ts";
import { Catalogue, type Model } from "../../../core/contract/catalogue.ts";
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
];

async function shipped(): Promise<Catalogue> {
  const problems = new Problems();
  const source = await readYaml(join(packageRoot, "config/catalogue.yaml"), {}, problems);
  assert.ok(source);
  const upstreams = new Map(UPSTREAMS.map((name) => [name, PROTOCOLS]));
  const catalogue = readCatalogue(source, upstreams, problems);
  assert.ok(catalogue && !problems.found, formatProblems(problems.list()));
  return catalogue;
}

const catalogue = await shipped();
const { models } = catalogue;
const ids = models.map(({ id }) => id);
const perToken = models.filter(({ price }) => price.unit === "mtok");
const perCall = models.filter(({ price }) => price.unit !== "mtok");
const isGeneration5 = ({ id }: Model) =>
  /^(?:req\/|svc\/)?claude-(?:fable|opus|sonnet|haiku)-5(?:-\d+)?$/.test(id);

describe("the catalogue that is shipped", () => {
  test("has 102 models: 23 on the AWS channel, 38 priced per call, 41 others", () => {
    assert.equal(models.length, 102);
    assert.equal(new Set(ids).size, 102);
    assert.equal(models.filter(({ channel }) => channel === "aws").length, 23);
    assert.equal(perCall.length, 38);
    assert.equal(ids.filter((id) => !id.includes("/")).length, 41);
  });

  test("tells by the id what a model is", () => {
    for (const { id, channel, price } of models) {
      assert.equal(id.startsWith("svc/"), channel === "aws", id);
      assert.equal(id.startsWith("req/"), price.unit !== "mtok", id);
    }
  });

  test("has token prices from 1,500 to 55,000 đ, both of which occur", () => {
    const prices = perToken.map(({ price }) => price.vnd);
    assert.equal(Math.min(...prices), 1500);
    assert.equal(Math.max(...prices), 55_000);
  });

  test("has prices per call from 230 to 1,350 đ, both of which occur", () => {
    const prices = perCall.map(({ price }) => price.vnd);
    assert.equal(Math.min(...prices), 230);
    assert.equal(Math.max(...prices), 1350);
  });

  test("has one image model, at 1,000 đ an image, and one for speech, at 1,350 đ a call", () => {
    const other = models.filter(({ standard }) => standard === "images" || standard === "speech");
    assert.deepEqual(
      other.map(({ id, standard, price }) => [id, standard, price]),
      [
        ["req/gpt-image-2", "images", { unit: "image", vnd: 1000, microVnd: 1_000_000_000 }],
        ["req/gpt-4o-mini-tts", "speech", { unit: "call", vnd: 1350, microVnd: 1_350_000_000 }],
      ],
    );
  });

  test("has the context windows of the specification and no others", () => {
    const windows = new Set(models.map(({ contextWindow }) => contextWindow));
    const wanted = [196_000, 200_000, 256_000, 500_000, 1_000_000, 1_050_000, undefined];
    assert.deepEqual(windows, new Set(wanted));
    assert.equal(catalogue.get("req/gpt-image-2")?.contextWindow, undefined);
    assert.equal(catalogue.get("claude-haiku-4-5")?.contextWindow, 200_000);
  });

  test("has 1,000,000 tokens in and 128,000 out for the top family", () => {
    const top = models.filter(isGeneration5);
    assert.ok(top.length >= 8);
    for (const { id, contextWindow, maxOutputTokens } of top) {
      assert.deepEqual([id, contextWindow, maxOutputTokens], [id, 1_000_000, 128_000]);
    }
    for (const { id, contextWindow, maxOutputTokens, standard } of models) {
      if (standard === "images" || standard === "speech") continue;
      assert.ok(contextWindow && maxOutputTokens && maxOutputTokens <= contextWindow, id);
    }
  });

  test("names models of families in public use", () => {
    const families =
      /^(?:req\/|svc\/)?(?:claude|gpt|o\d|gemini|grok|deepseek|qwen|kimi|glm|minimax|mistral|devstral)[\w.-]*$/i;
    for (const id of ids) assert.match(id, families);
  });

  test("serves both chat protocols, and gives every chat model tools and streams", () => {
    const standards = new Set(models.map(({ standard }) => standard));
    assert.deepEqual(standards, new Set(["messages", "chat", "images", "speech"]));
    for (const { id, labels, standard } of models) {
      if (standard === "images" || standard === "speech") continue;
      assert.ok(labels.has("tools") && labels.has("streaming"), id);
    }
  });

  test("sends the AWS channel to the upstream aws, and nothing else", () => {
    for (const { id, channel, routes } of models) {
      for (const { upstream } of routes) assert.equal(upstream === "aws", channel === "aws", id);
    }
  });
});

describe("a model in memory", () => {
  test("is priced in whole µđ: a price per million tokens is as many µđ a token", () => {
    for (const { price } of perToken) assert.equal(price.microVnd, price.vnd);
    for (const { price } of perCall) assert.equal(price.microVnd, price.vnd * 1_000_000);
  });

  test("cannot be changed, nor can its price and its routes", () => {
    const model = catalogue.get("claude-opus-5-5");
    assert.ok(model);
    for (const part of [model, model.price, model.routes, model.routes[0], catalogue.models]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  test("has one shape whatever it is", () => {
    const shape = (value: object) => Object.keys(value).join();
    assert.equal(new Set(models.map(shape)).size, 1);
    assert.equal(new Set(models.map(({ price }) => shape(price))).size, 1);
    assert.equal(new Set(models.flatMap(({ routes }) => routes.map(shape))).size, 1);
  });

  test("is found by its id alone", () => {
    assert.equal(catalogue.get("claude-opus-5-5")?.id, "claude-opus-5-5");
    assert.equal(catalogue.get("opus"), undefined);
    assert.equal(new Catalogue([]).get("claude-opus-5-5"), undefined);
  });

  test("has weight 1 and priority 0 on a route that says neither", async () => {
    const text = await readFile(join(packageRoot, "config/catalogue.yaml"), "utf8");
    assert.ok(!text.includes("weight:"));
    const { upstream, model, weight, priority } = catalogue.get("grok-4.5")?.routes[0] ?? {};
    assert.deepEqual(
      { upstream, model, weight, priority },
      { upstream: "xai", model: "grok-4.5", weight: 1, priority: 0 },
    );
  });
});
