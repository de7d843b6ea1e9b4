import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { CHAT_DELTA, countObjects } from "../../../core/wire/deltas.ts";
import { hasObject, startsWith } from "../../../core/wire/scan.ts";
import { Delivered } from "../../../core/wire/wire.ts";

const NAME = Buffer.from('"delta"');

/** Returns the text that a parser finds in a value that counts. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "text" ? textsIn(inner) : []));
}

function counted(json: string): Delivered {
  const delivered = new Delivered();
  countObjects(Buffer.from(json), NAME, CHAT_DELTA, delivered);
  return delivered;
}

/** An event with this content in its delta, between other values. */
const chunkOf = (content: unknown) =>
  JSON.stringify({ id: [{ text: "no" }], delta: { role: "text", content, id: 1 }, content: "no" });

const any = ({ asciiBytes, otherBytes }: Delivered) => asciiBytes + otherBytes > 0;

const wild = fc.string({
  unit: fc.constantFrom(
    '"',
    "\\",
    "a",
    "text",
    ":",
    "{",
    "}",
    "đ",
    "語",
    "💸",
    "\n",
    " ",
    "\u0001",
  ),
});
const tree = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    wild,
    fc.integer(),
    fc.array(tie("node"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("text", "a", "tex", "text2"), tie("node"), { maxKeys: 3 }),
  ),
})).node;

t.test("counting strings without a parser", async (t) => {
  t.test("finds the same strings as a parser", async () => {
    fc.assert(
      fc.property(tree, (value) => {
        const strings = textsIn(value);
        assert.equal(
          any(counted(chunkOf(value))),
          strings.some((text) => text !== ""),
        );
      }),
    );
  });

  t.test(
    "counts ASCII by characters, other scripts by bytes, and escapes by what they encode",
    async () => {
      fc.assert(
        fc.property(tree, (value) => {
          const all = textsIn(value).join("");
          const { asciiBytes, otherBytes } = counted(chunkOf(value));
          // A control character has no short escape. It counts as another script, which is the
          // cautious choice.
          const controls = all.split("\u0001").length - 1;
          // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them
          const ascii = all.match(/[\u0000-\u007f]/g)?.length ?? 0;
          assert.equal(asciiBytes, ascii - controls);
          assert.equal(otherBytes, Buffer.byteLength(all) - ascii + 2 * controls);
        }),
      );
    },
  );

  t.test("accepts white space around the colon, and other lines of an event", async (t) => {
    t.equal(counted('event: x\ndata: {"delta" :  {"content" : "four"}}\n\n').asciiBytes, 4);
    t.equal(counted('[{"delta":{"content":"a"}},{"delta":{"content":"bc"}}]').asciiBytes, 3);
  });

  t.test("accepts text cut off anywhere", async () => {
    const json = chunkOf(['a "quoted" \\ đồng', { text: [{ text: "b" }] }]);
    for (let end = 0; end <= json.length; end++) counted(json.slice(0, end));
  });

  t.test("ignores content that imitates a key", async (t) => {
    t.equal(any(counted(JSON.stringify({ other: '"delta":{"content":"imitated"}' }))), false);
  });
});

t.test("the search for an object under a key", async (t) => {
  const usage = Buffer.from('"usage"');

  t.test("finds it with and without white space", async (t) => {
    for (const json of ['{"usage":{}}', '{"usage": {"a":1}}', '{"a":[{"usage"  :  {}}]}']) {
      t.equal(hasObject(Buffer.from(json), usage), true, json);
    }
  });

  t.test("finds none in null, a number or content", async (t) => {
    const imitation = JSON.stringify({ content: '"usage":{"output_tokens":1}' });
    for (const json of ['{"usage":null}', '{"usage":1}', '{"usage"', imitation]) {
      t.equal(hasObject(Buffer.from(json), usage), false, json);
    }
  });

  t.test("returns false if the text is shorter than the prefix", async (t) => {
    t.equal(startsWith(Buffer.from("ev"), Buffer.from("event:")), false);
  });
});
