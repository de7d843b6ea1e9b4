import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import {
  type Environment,
  formatProblems,
  type GatewayConfig,
  loadConfig,
} from "../../../core/config/load.ts";
import type { LoadedUpstream } from "../../../core/plugin/upstream-kind.ts";
import { lineTriples } from "../../support/line-triples.ts";

/** A valid config, in which tests break one thing. */
export const GATEWAY = `listen: { host: 127.0.0.1, port: 8080, workers: 1 }
admin: { token: 0123456789abcdef }
stores: { hot: embedded, ledger: embedded, data: ./data }
limits: { body_mb: 20, call_seconds: 900 }
log: { level: info }
headers: { prefix: x-svc- }
upstreams:
  main:
    protocols: { messages: "http://127.0.0.1:9001" }
    keys: [first-key, second-key]
catalogue: catalogue.yaml
plugins:
  - ./plugin.js
unbilled: true
`;

export const CATALOGUE = `models:
  - id: plain
    price_vnd_per_mtok: 2000
    channel: standard
    context_window: 200000
    max_output_tokens: 64000
    labels: [reasoning, streaming]
    standard: messages
    routes: [{ upstream: main, model: plain-1 }]
  - id: req/plain
    price_vnd_per_call: 500
    context_window: 200000
    max_output_tokens: 64000
    standard: messages
    routes: [{ upstream: main, model: plain-1 }]
`;

/** It provides `guards.operator`, which a config with an admin token requires. */
const PLUGIN = `
export const provides = ["guards.operator"];
export default () => ({ name: "test" });
`;

type LoadOptions = Parameters<typeof loadConfig>[2];

/** Files of a config by name; missing ones default to the valid files above. */
export type Files = Readonly<Record<string, string>>;

/** A text of a valid file, the wrong text that replaces it, and the expected line. */
export type Row = readonly [from: string, to: string, expected: string];

/**
 * Returns the rows of a table. Each has three lines: the text, then `->` and the wrong one, then the expected line. A backslash
 * escapes what follows it, and `\n` is the end of a line. Empty lines, and those that begin with `#`, are none.
 */
export function rowsOf(table: string): Row[] {
  const lines = table.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const unescaped = lines.map((line) =>
    line.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped)),
  );
  return lineTriples(unescaped).map(([from, to, expected]) => {
    assert.ok(to.startsWith("  ->") && expected.startsWith("  "), `${from}: a row has three lines`);
    return [from, to.slice("  -> ".length), expected.trimStart()];
  });
}

/** Replaces a text, which must occur. */
export function swap(text: string, from: string, to: string): string {
  assert.ok(text.includes(from), `the text to replace is there: ${from}`);
  return text.replace(from, () => to);
}

/** Writes the files into a new folder, which is deleted after the test. */
export async function folderOf(t: Test, files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-config-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const all: Files = {
    "gateway.yaml": GATEWAY,
    "catalogue.yaml": CATALOGUE,
    "plugin.js": PLUGIN,
    "package.json": `{ "type": "module" }`,
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Loads the config of the files; fails if it has problems. */
export async function accepted(
  t: Test,
  files: Files,
  environment: Environment = {},
  options: LoadOptions = {},
): Promise<GatewayConfig> {
  const folder = await folderOf(t, files);
  const loaded = await loadConfig(join(folder, "gateway.yaml"), environment, options);
  if (!loaded.ok) assert.fail(formatProblems(loaded.problems));
  return loaded.config;
}

/** Loads the files, which must have problems; returns one line for each, without the folder. */
export async function refused(
  t: Test,
  files: Files,
  environment: Environment = {},
  options: LoadOptions = {},
): Promise<string[]> {
  const folder = await folderOf(t, files);
  const loaded = await loadConfig(join(folder, "gateway.yaml"), environment, options);
  if (loaded.ok) assert.fail("a wrong config was accepted");
  const lines = formatProblems(loaded.problems).replaceAll(`${folder}/`, "").split("\n");
  return lines.slice(1).map((line) => line.trim());
}

/** The credentials that an upstream adds to its first request, in its first protocol. */
export function credentialsOf(upstream: LoadedUpstream | undefined): string[] {
  const [protocol] = upstream?.protocols ?? [];
  assert.ok(upstream && protocol);
  const request = { protocol, origin: "http://127.0.0.1", path: "/", headers: [], body: "" };
  const adapter = upstream.createAdapter();
  const credentials = adapter.authorise(request, 0, adapter.keys?.[0] ?? "");
  assert.ok(Array.isArray(credentials));
  return credentials;
}
