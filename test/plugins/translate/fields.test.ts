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
import { Declarations } from "./declared.ts";
import { FIELDS } from "./fields.ts";
import { HARMLESS, NestedFields, PLACES } from "./nested-fields.ts";

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
    ["responses", "grok-4.5"],
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

/** Files with types that those of OpenAI use. */
const SHARED: Readonly<Partial<Record<Client, string>>> = {
  chat: "openai-newest/resources/shared.d.ts",
  responses: "openai-newest/resources/shared.d.ts",
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
function fateOf(
  { body, beside }: { readonly body: JsonObject; readonly beside: JsonObject },
  client: Client,
  to: Client,
  model: string,
): string {
  const plain = made(beside, client, to, model);
  const before = rulesFor(beside, client);
  if (!plain.ok || before.includes("demand")) return "refused with all around it";
  const rules = rulesFor(body, client);
  if (rules.includes("demand")) return "refused";
  if (rules.length > before.length) return "named";
  const got = made(body, client, to, model);
  if (!got.ok) return "refused";
  const names = got.dropped.filter((name) => !plain.dropped.includes(name));
  const isSame = JSON.stringify(got.body) === JSON.stringify(plain.body);
  const isCut = got.context.stops !== undefined;
  if (names.length > 0) return isSame ? "named" : "in part, named";
  if (!isSame || isCut) return "translated";
  return "silent";
}

function rulesFor(body: JsonObject, client: Client): readonly string[] {
  const rules = usesIn(structuredClone(body), client, false).map(({ row }) => row.rule);
  return rules.filter((rule) => rule !== "hint");
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

/** Returns what becomes of each field inside of a field, unless all around it is refused or left out. */
function nestedFates(client: Client) {
  const [[file, root] = ["", ""]] = DECLARED[client].slice(-1);
  const declared = new Declarations([file, SHARED[client] ?? []].flat());
  const request = declared.find(root);
  assert.ok(request && "fields" in request);
  const nested = new NestedFields(declared);
  // Turns last: types that they share with other fields are sampled there.
  const isTurns = (name: string) => Number(name === "messages" || name === "input");
  const fields = request.fields.toSorted((one, other) => isTurns(one.name) - isTurns(other.name));
  for (const { name, type } of fields) {
    nested.inside(type, root, (value) => PLACES[client](name, value));
  }
  return nested.samples.flatMap(({ name, ...sample }) => {
    const row = HARMLESS.find(([field]) => field.test(name));
    const fates = TARGETS[client].map(([to, model]) => {
      const plain = made(sample.beside, client, to, model);
      const fate = fateOf(sample, client, to, model);
      if (fate !== "silent") return fate;
      if (plain.ok && plain.dropped.length > 0) return "named with all around it";
      return row ? "no effect" : fate;
    });
    return fates.every((fate) => fate.includes("around it")) ? [] : [{ name, fates, row }];
  });
}

t.test("no field is lost without a word", async (t) => {
  const rows = FIELDS.map((sample) => {
    const { client, harmless } = sample;
    const beside = { ...PLAIN[client], ...sample.beside };
    const whole = { body: { ...beside, ...sample.body }, beside };
    const fates = TARGETS[client].map(([to, model]) => {
      const fate = fateOf(whole, client, to, model);
      return fate === "silent" && harmless !== undefined ? "no effect" : fate;
    });
    t.notOk(fates.includes("silent"), `${sample.client} ${sample.field}: ${fates.join(", ")}`);
    return [sample, fates] as const;
  });
  const reasons = new Set<string>();
  const tables = (["messages", "chat", "responses"] as const).map((client) => {
    const targets = TARGETS[client].map(([to]) => `to ${to}`);
    const nested = nestedFates(client);
    t.ok(nested.length > 20, `${client}: ${nested.length} fields inside of fields`);
    const inside = nested.map(({ name, fates, row }) => {
      t.notOk(fates.includes("silent"), `${client} ${name}: ${fates.join(", ")}`);
      const why = fates.includes("no effect") ? row?.[1] : "";
      if (why) reasons.add(why);
      return `| \`${name}\` | ${fates.join(" | ")} | ${why} |`;
    });
    const own = rows.filter(([sample]) => sample.client === client);
    const lines = own.map(([{ field, harmless }, fates]) => {
      const why = fates.includes("no effect") ? harmless : "";
      return `| \`${field}\` | ${fates.join(" | ")} | ${why} |`;
    });
    const line = `|---|${targets.map(() => "---|").join("")}---|`;
    const head = `| ${client} request | ${targets.join(" | ")} | |\n${line}`;
    return `${head}\n${[...lines, ...inside].join("\n")}`;
  });
  t.strictSame([...reasons].sort(), HARMLESS.map(([, why]) => why).sort());
  const file = join(packageRoot, "plugins", "translate", "FIELDS.md");
  const text = `# What becomes of each field

Of a request that is translated. A test writes this file (\`UPDATE_FIELDS=1 npm test -- translate/fields\`), from the fields that
the official clients declare, also inside of other fields, by the name of their type. It fails for a field that is lost without a
word. *translated*: it goes on; *named*: left out, and
named in the header of the reply; *refused*: 400 before money is held.

${tables.join("\n\n")}
`;
  if (process.env["UPDATE_FIELDS"] === "1") writeFileSync(file, text);
  t.equal(readFileSync(file, "utf8"), text);
});
