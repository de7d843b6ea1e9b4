import t from "tap";
import { ContentCache } from "../../../../plugins/translate/edits/content-cache.ts";
import { edited } from "../../../../plugins/translate/edits/index.ts";

const parameters = { type: "object", properties: { a: { type: "string", pattern: "^\\p{L}$" } } };
const tools = [{ type: "function", function: { name: "f", strict: true, parameters } }];
const body = (more: object) => structuredClone({ model: "m", messages: [], tools, ...more });

t.test("the same tools of a later call get and lose the same", async (t) => {
  for (const [to, client, profile, more] of [
    ["chat", "messages", { maker: "openai" }, {}],
    ["chat", "messages", { maker: "google", dialect: "compatible" }, {}],
    ["messages", "chat", {}, { tools: [{ name: "f", strict: true, input_schema: parameters }] }],
  ] as const) {
    const first = edited(body(more), to, profile, client);
    const second = edited(body(more), to, profile, client);
    t.ok(first.ok && first.dropped.length > 0, `${to}: something is lost`);
    t.strictSame(second, first);
  }
});

t.test("a schema that cannot be said is refused each time", async (t) => {
  const schema = { type: "object", additionalProperties: { type: "string" } };
  const more = { output_config: { format: { type: "json_schema", schema } }, tools: [] };
  for (const time of ["first", "second"]) {
    const made = edited(body(more), "messages", {}, "chat");
    t.match(made, { ok: false, reject: { message: /takes properties of any name/ } }, time);
  }
});

t.test("contents of one mark have a result each", async (t) => {
  const cache = new ContentCache<string>();
  const contents: readonly unknown[] = [
    ...[{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1 }, { a: "1" }, [1], { a: [1] }, { a: [1, 2] }],
    ...[{ a: null }, { a: {} }, { a: [] }, null, undefined, { a: undefined }, {}, { "0": 1 }, "a"],
  ];
  for (const content of [...contents, ...contents]) {
    const wanted = JSON.stringify([content]);
    for (let time = 0; time < 2; time++) {
      const again = structuredClone(content);
      t.equal(
        cache.get("m", [again], () => JSON.stringify([again])),
        wanted,
      );
    }
  }
  const edited = { a: [1] };
  cache.get("m", edited, () => "of [1]");
  edited.a.push(2);
  t.equal(
    cache.get("m", { a: [1, 2] }, () => "of [1, 2]"),
    "of [1, 2]",
  );
});

t.test("results are kept by content, and the oldest go", async (t) => {
  const cache = new ContentCache<string>();
  const made: string[] = [];
  const get = (text: string) =>
    cache.get(text.replaceAll("x", "").trim(), [{ text }], () => {
      made.push(text);
      return text;
    });
  const large = (name: string) => name.padEnd(1_000_000, "x");
  for (const name of ["a", "b", "a"]) get(name);
  t.strictSame(made, ["a", "b"]);
  for (let at = 0; at < 18; at++) {
    get(large(`${at}`));
    get("a");
  }
  made.length = 0;
  get("a");
  get(large("17"));
  t.strictSame(made, [], "those that were used lately are there");
  get(large("0"));
  get("b".padEnd(2_000_000));
  get("b".padEnd(2_000_000));
  t.equal(made.length, 3, "the oldest has gone, and what is too long is not kept");
});
