import fc from "fast-check";
import type { JsonObject } from "../../../core/process/json.ts";

/**
 * Random conversations that are valid in their protocol and vary enough to produce every kind of
 * turn: several calls, odd ids, replies with and without text, blank texts, pictures.
 */

const text = fc.oneof(
  fc.constantFrom("a", "b c", "Xin chào 🌏", 'quote " and \\ slash', "line\nline", "error: no"),
  fc.string({ minLength: 1, maxLength: 8 }).filter((value) => value.trim() !== ""),
);
const input: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.constantFrom("path", "n", "nested", "list", "ø"),
  fc.oneof(
    text,
    fc.integer(),
    fc.constantFrom<unknown>(null, true, [], {}, [1, { a: [] }], { "}": "{" }),
  ),
  { maxKeys: 3, noNullPrototype: true },
);

const TOOL_NAMES = ["read", "write_file", "a-b", `long_${"n".repeat(70)}`];
const CHAT_TOOL_NAMES = ["read", "write_file", "fs.read", "fs_read", "with space"];
const PICTURES = ["https://x.test/a.png", "data:image/png;base64,AAAA"];

/** One exchange: the user's text, the calls it leads to, and the assistant's final text. */
interface Exchange {
  readonly said: readonly string[];
  readonly picture: string | undefined;
  readonly rounds: readonly Round[];
  readonly answer: string;
}
interface Round {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  readonly results: readonly { readonly text: string; readonly failed: boolean }[];
  /** The user's text in the turn of the results. */
  readonly aside: string;
}

function exchanges(names: readonly string[]): fc.Arbitrary<Exchange[]> {
  const round = fc.record({
    text: fc.oneof(text, fc.constant("")),
    calls: fc.array(fc.record({ name: fc.constantFrom(...names), input }), {
      minLength: 1,
      maxLength: 3,
    }),
    results: fc.array(fc.record({ text: fc.oneof(text, fc.constant("")), failed: fc.boolean() }), {
      minLength: 3,
      maxLength: 3,
    }),
    aside: fc.oneof(text, fc.constant("")),
  });
  return fc.array(
    fc.record({
      said: fc.array(text, { minLength: 1, maxLength: 3 }),
      picture: fc.option(fc.constantFrom(...PICTURES), { nil: undefined }),
      rounds: fc.array(round, { maxLength: 2 }),
      answer: text,
    }),
    { minLength: 1, maxLength: 4 },
  );
}

const settings = fc.record({
  cap: fc.integer({ min: 1, max: 9000 }),
  temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
  stops: fc.array(fc.constantFrom("END", "###", "\nUser:"), { maxLength: 2 }),
  stream: fc.boolean(),
  system: fc.array(text, { maxLength: 2 }),
  parallel: fc.boolean(),
});

/** A valid request of a Messages client. */
export const messagesRequest: fc.Arbitrary<JsonObject> = fc
  .record({
    all: exchanges(TOOL_NAMES),
    settings,
    choice: fc.constantFrom<JsonObject | undefined>(
      undefined,
      { type: "auto" },
      { type: "any" },
      { type: "none" },
      { type: "tool", name: "read" },
    ),
    midSystem: fc.boolean(),
    lastWord: fc.boolean(),
  })
  .map(({ all, settings: set, choice, midSystem, lastWord }) => {
    const messages: JsonObject[] = [];
    let calls = 0;
    for (const { said, picture, rounds, answer } of all) {
      const content: JsonObject[] = said.map((one) => ({ type: "text", text: one }));
      if (picture !== undefined) content.push({ type: "image", source: pictureSource(picture) });
      messages.push({ role: "user", content: content.length > 1 ? content : (said[0] ?? "") });
      if (midSystem) messages.push({ role: "system", content: "By the way." });
      for (const round of rounds) {
        const first = calls;
        const uses = round.calls.map(({ name, input: given }, at) => {
          return { type: "tool_use", id: `toolu_${first + at}`, name, input: given };
        });
        calls += uses.length;
        const spoken = round.text === "" ? [] : [{ type: "text", text: round.text }];
        messages.push({ role: "assistant", content: [...spoken, ...uses] });
        const aside = round.aside === "" ? [] : [{ type: "text", text: round.aside }];
        const results = uses.map(({ id }, at) => {
          const { text: content = "", failed = false } = round.results[at] ?? {};
          return { type: "tool_result", tool_use_id: id, content, is_error: failed };
        });
        messages.push({ role: "user", content: [...aside, ...results] });
      }
      messages.push({ role: "assistant", content: answer });
    }
    if (!lastWord) messages.push({ role: "user", content: "Go on." });
    const request: JsonObject = {
      model: "m",
      max_tokens: set.cap,
      messages,
      tools: TOOL_NAMES.map((name) => ({
        name,
        description: `The ${name} tool`,
        input_schema: SCHEMA,
      })),
      stop_sequences: set.stops,
      stream: set.stream,
    };
    if (set.system.length > 0)
      request["system"] = set.system.map((one) => ({ type: "text", text: one }));
    if (set.temperature !== undefined) request["temperature"] = set.temperature;
    if (choice) {
      const flag =
        set.parallel || choice["type"] === "none" ? {} : { disable_parallel_tool_use: true };
      request["tool_choice"] = { ...choice, ...flag };
    }
    return request;
  });

/** A valid request of a Chat client, with ids that Messages rejects and ids that repeat. */
export const chatRequest: fc.Arbitrary<JsonObject> = fc
  .record({
    all: exchanges(CHAT_TOOL_NAMES),
    settings,
    choice: fc.constantFrom<unknown>(undefined, "auto", "required", "none", {
      type: "function",
      function: { name: "fs.read" },
    }),
    turnScopedIds: fc.boolean(),
  })
  .map(({ all, settings: set, choice, turnScopedIds }) => {
    const messages: JsonObject[] = set.system.map((content) => ({ role: "system", content }));
    let calls = 0;
    for (const { said, picture, rounds, answer } of all) {
      const parts: JsonObject[] = said.map((one) => ({ type: "text", text: one }));
      if (picture !== undefined) parts.push({ type: "image_url", image_url: { url: picture } });
      messages.push({ role: "user", content: parts.length > 1 ? parts : (said[0] ?? "") });
      for (const round of rounds) {
        const first = turnScopedIds ? 0 : calls;
        const uses = round.calls.map(({ name, input: given }, at) => {
          const called = { name, arguments: JSON.stringify(given) };
          return { id: `functions.${name}:${first + at}`, type: "function", function: called };
        });
        calls += uses.length;
        const content = round.text === "" ? null : round.text;
        messages.push({ role: "assistant", content, tool_calls: uses });
        for (const [at, { id }] of uses.entries()) {
          const result = round.results[at]?.text ?? "";
          messages.push({ role: "tool", tool_call_id: id, content: result });
        }
        if (round.aside !== "") messages.push({ role: "user", content: round.aside });
      }
      messages.push({ role: "assistant", content: answer });
    }
    messages.push({ role: "user", content: "Go on." });
    const request: JsonObject = {
      model: "m",
      max_completion_tokens: set.cap,
      messages,
      tools: CHAT_TOOL_NAMES.map((name) => {
        const definition = { name, description: `The ${name} tool`, parameters: SCHEMA };
        return { type: "function", function: definition };
      }),
      stream: set.stream,
      parallel_tool_calls: set.parallel,
    };
    const stops = set.stops.filter((stop) => stop.trim() !== "");
    if (stops.length > 0) request["stop"] = stops;
    if (set.temperature !== undefined) request["temperature"] = set.temperature;
    if (choice !== undefined) request["tool_choice"] = choice;
    return request;
  });

const SCHEMA = {
  type: "object",
  properties: { path: { type: "string" }, n: { type: "integer" } },
  required: ["path"],
};

function pictureSource(url: string): JsonObject {
  if (!url.startsWith("data:")) return { type: "url", url };
  return { type: "base64", media_type: "image/png", data: url.slice(url.indexOf(",") + 1) };
}

/** A request with up to three of its values replaced: nearly valid, but wrong somewhere inside. */
export function damaged(
  request: fc.Arbitrary<JsonObject>,
  junk: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const damage = fc.array(fc.tuple(fc.array(fc.nat(40), { minLength: 1, maxLength: 7 }), junk), {
    maxLength: 3,
  });
  return fc.tuple(request, damage).map(([body, all]) => {
    const copy: unknown = JSON.parse(JSON.stringify(body));
    for (const [path, value] of all) replaceAt(copy, path, value);
    return copy;
  });
}

/** Follows the path as far as the value goes, by key numbers, and puts the junk there. */
function replaceAt(root: unknown, path: readonly number[], junk: unknown): void {
  let value: unknown = root;
  for (const [at, step] of path.entries()) {
    if (typeof value !== "object" || value === null) return;
    const keys = Object.keys(value);
    const key = keys[step % keys.length];
    if (key === undefined) return;
    const child: unknown = Reflect.get(value, key);
    const deepest = at === path.length - 1 || typeof child !== "object" || child === null;
    if (deepest) {
      Reflect.set(value, key, junk);
      return;
    }
    value = child;
  }
}
