import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { packageRoot } from "../../core/process/root.ts";

/** The catalogue of the package: for tests of models, prices, and whole installations. */
export const SHIPPED_CATALOGUE = join(packageRoot, "config", "catalogue.yaml");

/** The models that the tests' gateways sell, unless a test names another catalogue. */
const MODELS = [
  ...["claude-fable-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"],
  ...["claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5", "svc/claude-opus-5-5"],
  ...["gpt-5.6-sol", "gpt-5.6-luna", "gpt-4.1", "req/gpt-4.1", "req/gpt-5.6-sol"],
  ...["req/claude-opus-5-5", "req/gpt-image-2", "req/gpt-4o-mini-tts", "svc/grok-4.3"],
  ...["deepseek-v4-flash", "deepseek-v4-pro", "grok-4.5", "gemini-3.5-flash", "MiniMax-M3"],
  ...["claude-opus-4-8", "gpt-5.5", "glm-5.2", "qwen3.7-max", "svc/glm-4.7-flash"],
];

/** The tests' own gpt-4.1-nano: a cheap model that does not reason, as providers no longer have. */
const NANO: Readonly<Record<string, object>> = {
  "gpt-4.1": { id: "gpt-4.1-nano", price_vnd_per_mtok: 1_500 },
  "req/gpt-4.1": {
    id: "req/gpt-4.1-nano",
    price_vnd_per_call: 230,
    input_tokens_max: 120_000,
    max_output_tokens: 32_768,
  },
};

interface Entry {
  readonly id: string;
  readonly routes: readonly object[];
}

function asNano(model: Entry): Entry {
  const nano = NANO[model.id];
  const routes = model.routes.map((route) => ({ ...route, model: "gpt-4.1-nano" }));
  return nano ? { ...model, ...nano, routes } : model;
}

let file: string | undefined;

/**
 * Returns the path of the shipped catalogue without most of its models: reading all hundred is a
 * quarter of what a gateway's start costs, and the tests start hundreds. Written once, and again if
 * the shipped one changes.
 */
export function catalogueOfTests(): string {
  file ??= keptCatalogue(MODELS);
  return file;
}

/** Returns the path of a catalogue with all shipped models, and the tests' own one. */
export function wholeCatalogueOfTests(): string {
  return keptCatalogue();
}

export const TEST_PRICE_VND_PER_MTOK = 10_000;

/** A chat model for a catalogue of a test's own. `more`: what is not as usual. */
export function testModel(id: string, routes: readonly object[], more: object = {}) {
  return {
    id,
    standard: "messages",
    price_vnd_per_mtok: TEST_PRICE_VND_PER_MTOK,
    context_window: 100_000,
    max_output_tokens: 10_000,
    labels: ["streaming"],
    routes,
    ...more,
  };
}

/** Writes the shipped catalogue with these models only. Default: all. */
export function writeCatalogue(file: string, models?: readonly string[]): void {
  const text = readFileSync(SHIPPED_CATALOGUE, "utf8");
  const shipped = parse(text, { merge: true }) as { models: Entry[] };
  const kept = shipped.models.filter(({ id }) => models?.includes(id) ?? true).map(asNano);
  writeFileSync(file, JSON.stringify({ ...shipped, models: kept }));
}

function keptCatalogue(models?: readonly string[]): string {
  const source = readFileSync(SHIPPED_CATALOGUE, "utf8") + JSON.stringify([models, NANO]);
  const name = `catalogue-${createHash("sha256").update(source).digest("hex").slice(0, 16)}.json`;
  const kept = join(packageRoot, "node_modules", ".cache", "tollgate", name);
  if (existsSync(kept)) return kept;
  mkdirSync(dirname(kept), { recursive: true });
  // Test files run side by side; each writes the same bytes.
  const mine = `${kept}.${process.pid}`;
  writeCatalogue(mine, models);
  renameSync(mine, kept);
  return kept;
}
