import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { arrayOf, type JsonObject, objectOf } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { usesIn } from "../../../core/wire/features/find.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { translateRequest } from "../../../plugins/translate/translate-request.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { FIELDS, type Sample } from "./fields.ts";

type Client = "messages" | "chat" | "responses";

/** The protocols that a client's request is translated to, with a model that speaks each. */
const TARGETS: Readonly<Record<Client, readonly (readonly [to: Client, model: string])[]>> = {
  messages: [
    ["chat", "gpt-4.1"],
    ["responses", "gpt-5.6-sol"],
  ],
  chat: [
    ["messages", "claude-sonnet-5"],
    ["responses", "gpt-5.6-sol"],
  ],
  responses: [
    ["messages", "claude-sonnet-5"],
    ["chat", "gemini-3.5-flash"],
  ],
};

const PLAIN: Readonly<Record<Client, JsonObject>> = {
  messages: { model: "m", max_tokens: 999, messages: [{ role: "user", content: "q" }] },
  chat: { model: "m", messages: [{ role: "user", content: "q" }] },
  responses: { model: "m", input: [{ role: "user", content: "q" }] },
};

/**
 * The declarations of the official clients that list the fields of a request. The newest one of OpenAI needs a later Node than
 * this project supports, so only its declarations are used.
 */
const DECLARED: Readonly<Record<Client, readonly (readonly [file: string, name: string])[]>> = {
  messages: [
    ["@anthropic-ai/sdk/resources/messages/messages.d.ts", "MessageCreateParamsBase"],
    ["@anthropic-ai/sdk/resources/beta/messages/messages.d.ts", "MessageCreateParamsBase"],
  ],
  chat: [
    ["openai-newest/resources/chat/completions/completions.d.ts", "ChatCompletionCreateParamsBase"],
  ],
  responses: [["openai-newest/resources/responses/responses.d.ts", "ResponseCreateParamsBase"]],
};

const profiles = new Map<string, JsonObject>(
  arrayOf(parse(readFileSync(SHIPPED_CATALOGUE, "utf8"), { merge: true }).models).map((model) => {
    const { id, routes } = objectOf(model) ?? {};
    return [String(id), objectOf(objectOf(arrayOf(routes)[0])?.["profile"]) ?? {}];
  }),
);
const seal = StateSeal.of("");

function made(body: JsonObject, client: Client, to: Client, model: string) {
  const profile = profiles.get(model);
  assert.ok(profile, model);
  const target = { client, to, profile, maker: String(profile["maker"]), accountId: "a" };
  return translateRequest(body, target, seal);
}

/** Says what becomes of a field: it goes on, is named, is refused, or has no meaning for the other model. */
function fateOf(sample: Sample, client: Client, to: Client, model: string): string {
  const plain = made({ ...PLAIN[client], ...sample.beside }, client, to, model);
  assert.ok(plain.ok, JSON.stringify(plain));
  const body = { ...PLAIN[client], ...sample.beside, ...sample.body };
  const rules = usesIn(body, client, false).map(({ row }) => row.rule);
  if (rules.includes("demand")) return "refused";
  if (rules.includes("optional")) return "named";
  const got = made(body, client, to, model);
  if (!got.ok) return "refused";
  const names = got.dropped.filter((name) => !plain.dropped.includes(name));
  const isSame = JSON.stringify(got.body) === JSON.stringify(plain.body);
  const isCut = got.context.stops !== undefined;
  if (names.length > 0) return isSame ? "named" : "in part, named";
  if (!isSame || isCut) return "translated";
  return sample.harmless === undefined ? "silent" : "no effect";
}

t.test("every field of the official clients has a sample", async (t) => {
  for (const [client, declarations] of Object.entries(DECLARED)) {
    const sampled = new Set(
      FIELDS.filter((one) => one.client === client).map(({ field }) => field),
    );
    for (const [file, name] of declarations) {
      const text = readFileSync(join(packageRoot, "node_modules", file), "utf8");
      const from = text.indexOf(`export interface ${name}`);
      const body = text.slice(from, text.indexOf("\n}", from));
      const fields = [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field = ""]) => field);
      assert.ok(fields.length > 10, file);
      const missing = fields.filter((field) => !sampled.has(field));
      t.strictSame(missing, [], `${client}: fields of ${name} without a sample`);
    }
  }
});

t.test("no field is lost without a word", async (t) => {
  const rows = FIELDS.map((sample) => {
    const fates = TARGETS[sample.client].map(([to, model]) =>
      fateOf(sample, sample.client, to, model),
    );
    t.notOk(fates.includes("silent"), `${sample.client} ${sample.field}: ${fates.join(", ")}`);
    return [sample, fates] as const;
  });
  const tables = (["messages", "chat", "responses"] as const).map((client) => {
    const targets = TARGETS[client].map(([to]) => `to ${to}`);
    const own = rows.filter(([sample]) => sample.client === client);
    const lines = own.map(([{ field, harmless }, fates]) => {
      const why = fates.includes("no effect") ? harmless : "";
      return `| \`${field}\` | ${fates.join(" | ")} | ${why} |`;
    });
    const head = `| ${client} request | ${targets.join(" | ")} | |\n|---|---|---|---|`;
    return `${head}\n${lines.join("\n")}`;
  });
  const file = join(packageRoot, "plugins", "translate", "FIELDS.md");
  const text = `# What becomes of each field

Of a request that is translated. A test writes this file (\`UPDATE_FIELDS=1 npm test -- translate/fields\`), from the fields that
the official clients declare, and fails for a field that is lost without a word. *translated*: it goes on; *named*: left out, and
named in the header of the reply; *refused*: 400 before money is held.

${tables.join("\n\n")}
`;
  if (process.env["UPDATE_FIELDS"] === "1") writeFileSync(file, text);
  t.equal(readFileSync(file, "utf8"), text);
});
