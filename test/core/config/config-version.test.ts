import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { configVersion } from "../../../core/config/config-version.ts";
import { Problems } from "../../../core/config/problem.ts";
import { readSource } from "../../../core/config/read-source.ts";
import { accepted, GATEWAY } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-version-"));
t.teardown(() => rmSync(folder, { recursive: true }));

async function versionOf(text: string, key = "k", upstreams = ["a"]): Promise<string> {
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, text);
  const source = await readSource(file, { KEY: key }, new Problems());
  return source ? configVersion([source], upstreams) : "";
}

const BASE = `limits: { calls_max: 5 }\nlisten: { port: 1 }\nstores: { data: a }\nx: \${KEY}\n`;

t.test("a config has the same version on each server, whatever its secrets are", async (t) => {
  const version = await versionOf(BASE);
  t.match(version, /^[0-9a-f]{8}$/);
  for (const alike of [
    BASE.replace("port: 1", "port: 2"),
    BASE.replace("data: a", "data: b"),
    `# A comment.\n${BASE.split("\n").reverse().join("\n")}`,
  ]) {
    t.equal(await versionOf(alike), version, alike);
  }
  t.equal(await versionOf(BASE, "another"), version, "the value of a variable");
});

t.test("another setting, list or set of upstreams is another version", async (t) => {
  const version = await versionOf(BASE);
  t.not(await versionOf(BASE.replace("5", "6")), version);
  t.not(await versionOf(BASE.replace("x:", "y:")), version);
  t.not(await versionOf(BASE, "k", []), version);
});

t.test("another cost is another version", async (t) => {
  const costs = (amount: number) =>
    `costs: { main: { plain-1: { 2026-01-01: { currency: VND, per_call: ${amount} } } } }\n`;
  const report = "- ./plugin.js\n  - report: { costs: costs.yaml }";
  const files = { "gateway.yaml": GATEWAY.replace("- ./plugin.js", report) };
  const versionOf = async (text: string) =>
    (await accepted(t, { ...files, "costs.yaml": text })).version;
  const version = await versionOf(costs(1));
  t.not(await versionOf(costs(2)), version);
  t.equal(await versionOf(`# A comment.\n${costs(1)}`), version);
});
