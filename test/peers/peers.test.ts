import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { alibaba } from "../support/strict/alibaba.ts";
import { amazon } from "../support/strict/amazon.ts";
import { anthropic } from "../support/strict/anthropic.ts";
import { deepseek } from "../support/strict/deepseek.ts";
import { google } from "../support/strict/google.ts";
import { minimax } from "../support/strict/minimax.ts";
import { mistral } from "../support/strict/mistral.ts";
import { moonshot } from "../support/strict/moonshot.ts";
import { openai } from "../support/strict/openai.ts";
import { imageRules } from "../support/strict/openai-images.ts";
import { responsesRules } from "../support/strict/responses-rules.ts";
import { xai, xaiChat, xaiResponses } from "../support/strict/xai.ts";
import { zai } from "../support/strict/zai.ts";
import { CALL_REPORTS } from "./calls.ts";

const RULES = [
  ...[...anthropic, ...openai, ...responsesRules, ...google, ...xai, ...xaiChat, ...xaiResponses],
  ...[...deepseek, ...moonshot, ...zai, ...alibaba, ...minimax, ...mistral, ...amazon],
  ...imageRules,
];
const REPORT = /[\w.-]+\/[\w.-]+#\d+/g;
const CASES = "plugins/translate/provider-cases.json";
const TRANSLATIONS = "plugins/translate/cases.json";

/** The tests of each public report: the cases that play it, the translations, and the rules of the strict provider that come from it. */
function coverage(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (report: string, by: string) => {
    found.set(report, (found.get(report) ?? new Set()).add(by));
  };
  const cases: readonly { readonly name: string; readonly reports?: readonly string[] }[] =
    JSON.parse(readFileSync(join(packageRoot, "test", CASES), "utf8"));
  for (const { name, reports = [] } of cases) for (const report of reports) add(report, name);
  const translations: readonly { readonly id: string; readonly note?: string }[] = JSON.parse(
    readFileSync(join(packageRoot, "test", TRANSLATIONS), "utf8"),
  );
  for (const { id, note = "" } of translations) {
    for (const [report] of note.matchAll(REPORT)) add(report, `translation \`${id}\``);
  }
  for (const { id, source } of RULES) {
    for (const [report] of source.matchAll(REPORT)) add(report, `rule \`${id}\``);
  }
  for (const [reports, file, name] of CALL_REPORTS) {
    for (const report of reports.split(", ")) add(report, `\`${file}\`: ${name}`);
  }
  return found;
}

t.test("a report about calls names a test that is there", async (t) => {
  for (const [reports, file, name] of CALL_REPORTS) {
    const text = readFileSync(join(packageRoot, "test", file), "utf8");
    t.ok(text.includes(name), `${reports}: ${file} has no "${name}"`);
  }
});

t.test("the list of public reports is complete", async (t) => {
  const rows = [...coverage()].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const lines = rows.map(([report, by]) => `| ${report} | ${[...by].join("; ")} |`);
  const file = join(packageRoot, "test", "peers", "README.md");
  const text = `# Public reports of other gateways and clients

A provider refuses, or says in its own way, what has surprised many projects before. Each report here is covered by a test: a case
of [provider-cases.json](../${CASES}), which a gateway plays against the strict provider, or one of
[cases.json](../${TRANSLATIONS}), which is translated, or a rule of the [strict provider](../support/strict/README.md), whose own
tests break it and which judges every request of the other tests, or a test of calls, which is named with its file. Reports are named by project and number; nothing of their text or code is here. A test writes this file: \`UPDATE_PEERS=1 npm test -- peers\`.

| report | covered by |
|---|---|
${lines.join("\n")}
`;
  if (process.env["UPDATE_PEERS"] === "1") writeFileSync(file, text);
  t.equal(readFileSync(file, "utf8"), text);
});
