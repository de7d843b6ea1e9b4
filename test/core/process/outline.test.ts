import assert from "node:assert/strict";
import t from "tap";
import { scanJson } from "../../../core/process/json-scan.ts";
import { Outline } from "../../../core/process/outline.ts";

const TEXTS = new Set(["text"]);
const LONG = "a long text, ".repeat(40);

function outlineOf(text: string): Outline {
  const bytes = Buffer.from(text);
  const scan = scanJson(bytes, TEXTS);
  assert.ok(typeof scan !== "string", `${scan}`);
  const outline = Outline.of(bytes, scan);
  assert.ok(outline instanceof Outline, "not an object");
  return outline;
}

function written(text: string, set: object): string {
  const outline = outlineOf(text);
  return outline.written({ ...outline.tree, ...set }).toString();
}

t.test("a body is written with its edits, and all else as it came", async (t) => {
  // biome-ignore format: a table
  const table: [came: string, set: object, sent: string][] = [
    ['{"model":"a","n":1.0}',              { model: "b" },            '{"model":"b","n":1.0}'],
    [' { "model" : "a" ,\n "n" : -0 } \n', { model: "b" },            ' { "model" : "b" ,\n "n" : -0 } \n'],
    ['{"mod\\u0065l":"a","n":1e999}',      { model: "b" },            '{"mod\\u0065l":"b","n":1e999}'],
    ['{"a":{"model":"x"},"model":"a"}',    { model: "b" },            '{"a":{"model":"x"},"model":"b"}'],
    ['{"a":{"model":1,"model":2}}',        { model: "b" },            '{"a":{"model":1,"model":2},"model":"b"}'],
    ['{"a":"{\\"model\\":\\"x\\"}"}',      { model: "b" },            '{"a":"{\\"model\\":\\"x\\"}","model":"b"}'],
    ['{"a":12345678901234567890,"b":1}',   { b: 2 },                  '{"a":12345678901234567890,"b":2}'],
    ['{}',                                 { model: "b" },            '{"model":"b"}'],
    [' {\n} ',                             { model: "b", n: [1] },    ' {"model":"b","n":[1]\n} '],
    ['{"a":1,"b":2,"c":3}',                { a: undefined },          '{"b":2,"c":3}'],
    ['{"a":1, "b":2 , "c":3}',             { b: undefined },          '{"a":1, "c":3}'],
    ['{"a":1,"b":2,"c":3 }',               { c: undefined },          '{"a":1,"b":2 }'],
    ['{"a":1,"b":2,"c":3}',                { b: undefined, c: undefined, d: 4 }, '{"a":1,"d":4}'],
    ['{"a":1,"b":2}',                      { a: undefined, b: undefined },       '{}'],
    ['{ "a":1 }',                          { a: undefined, b: 2 },    '{ "b":2 }'],
    ['{"":1,"__proto__":2,"b":3}',         { b: 4 },                  '{"":1,"__proto__":2,"b":4}'],
    ['{"a":"\\ud800","b":"\u2028"}',       { c: "\ud800" },           '{"a":"\\ud800","b":"\u2028","c":"\\ud800"}'],
    ['{"đ":"\\/","b":[ 1 , [ ] ]}',        { b: [1] },                '{"đ":"\\/","b":[1]}'],
  ];
  for (const [at, [came, set, sent]] of table.entries()) {
    t.equal(written(came, set), sent, `row ${at + 1}`);
  }
});

t.test("fields of the tree are set and deleted while the bytes stay valid", async (t) => {
  const turns = `[ {"text":"${LONG}","n":1.0} ]`;
  const came = `{"model":"a","turns":${turns},"tools":[{"text":"${LONG}"},1] ,"store":true}`;
  const outline = outlineOf(came);
  const result = outline.edit((tree) => {
    tree["include"] = ["x"];
    delete tree["store"];
    return 5;
  });
  t.equal(result, 5);
  const sent = `{"model":"b","turns":${turns},"tools":[{"text":"${LONG}"},1],"include":["x"]}`;
  t.equal(outline.written({ ...outline.tree, model: "b" }).toString(), sent);
  outline.edit((tree) => {
    tree["tools"] = (tree["tools"] as unknown[]).slice(0, 1);
  });
  const again = sent.replace(",1]", "]").replace('"model":"b"', '"model":"a"');
  t.equal(outline.written({ ...outline.tree }).toString(), again);
});

t.test("a body without an edit is the bytes that came", async (t) => {
  const outline = outlineOf(`{"a":[{"text":"${LONG}"}],"model":"b"}`);
  t.strictSame(outline.written({ ...outline.tree }), outline.bytes);
  t.strictSame(outline.written({ ...outline.tree, model: "b" }), outline.bytes);
});

t.test("a long text", async (t) => {
  const text = `${LONG}\\n\\u1ea1 ạ 🌏 \\ud83c\\udf0f \\ud83c!`;
  const json = `{"turns":[{"text":"${text}"}],"text":"${LONG}","n":1}`;

  t.test("is not in the tree, unless it is at the top", async (t) => {
    const { tree } = outlineOf(json);
    t.ok(JSON.stringify(tree["turns"]).length < 50);
    t.equal(tree["text"], LONG);
  });

  t.test("has its measures, and any part of it can be read", async (t) => {
    const outline = outlineOf(json);
    const decoded: string = JSON.parse(`"${text}"`);
    const [turn] = outline.tree["turns"] as { text: string }[];
    const long = outline.leftOut.textOf(turn?.text ?? "");
    assert.ok(long);
    t.equal(long.units, decoded.length);
    t.equal(long.utf8Bytes, Buffer.byteLength(decoded));
    t.equal(long.decoded(), decoded);
    for (let at = 0; at < decoded.length - 8; at++) {
      const part = new Uint16Array(8);
      long.read(at, part);
      assert.equal(String.fromCharCode(...part), decoded.slice(at, at + 8));
    }
  });

  t.test("is back in the tree, and in copies of it, once it is filled", async (t) => {
    const outline = outlineOf(json);
    const copy = { ...outline.tree, n: 2 };
    outline.fill();
    t.strictSame(outline.tree, JSON.parse(json));
    t.strictSame(copy, { ...JSON.parse(json), n: 2 });
    t.equal(outline.written(copy).toString(), json.replace('"n":1', '"n":2'));
  });

  t.test("is never sent as what stands for it", async (t) => {
    const outline = outlineOf(json);
    const { tree } = outline;
    for (const moved of [tree["turns"], [tree["turns"]], JSON.stringify(tree["turns"])]) {
      t.ok(outline.hasPlaceholder(moved));
      t.throws(() => outline.written({ ...tree, moved }), /placeholder/);
    }
    t.notOk(outline.hasPlaceholder(tree["text"]));
  });

  t.test("that a client sends to look like a placeholder stays itself", async (t) => {
    const outline = outlineOf(json);
    const [turn] = outline.tree["turns"] as { text: string }[];
    const own = turn?.text ?? "";
    const fake = `${own.slice(1, 12)}x${own.slice(12)}`;
    const other = outlineOf(`{"a":[{"text":"${fake}"},{"text":"${LONG}"}]}`);
    other.fill();
    t.strictSame(other.tree, { a: [{ text: fake }, { text: LONG }] });
  });
});

t.test("what is no string of JSON is refused where it is not decoded", async (t) => {
  const broken = ["\n", "\t", "\u0000", "\\x", "\\u12g4", "\\u", "\\"];
  for (const at of [0, 3, 300]) {
    for (const piece of broken) {
      const text = LONG.slice(0, at) + piece + LONG.slice(at);
      const scan = scanJson(Buffer.from(`{"a":[{"text":"${text}"}]}`), TEXTS);
      t.equal(scan, "malformed", JSON.stringify(piece));
    }
  }
});

t.test("of a long body, one copy is kept while its call runs", async (t) => {
  const image = `data:image/png;base64,${"A".repeat(50_000)}`;
  const outline = outlineOf(`{"a":[{"url":"${image}"}],"model":"b"}`);
  const longStrings = Object.values(outline).filter((value) => String(value).length > 1_000);
  t.strictSame(longStrings, [outline.bytes], "beside the bytes, only the tree has it");
  outline.handOut();
  t.equal(outline.bytes.length, 0);
  t.strictSame(outline.tree, { a: [{ url: image }], model: "b" });
});
