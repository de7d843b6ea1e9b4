import assert from "node:assert/strict";
import t from "tap";
import { bodyParts, RequestBody, readJson } from "../../../core/body/request-body.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";

const LONG = "một đoạn văn dài, a long text ".repeat(200);

function read(text: string): RequestBody {
  const body = readJson(Buffer.from(text), "turns");
  assert.ok(!isRefusal(body), "refused");
  return body;
}

function written(text: string, set: object): string {
  const body = read(text);
  for (const [name, value] of Object.entries(set)) body.set(name, value);
  return body.bytes().toString();
}

t.test("a body is written with its edits, and all else as it came", async (t) => {
  // biome-ignore format: a table
  const table: [came: string, set: object, sent: string][] = [
    ['{"model":"a","n":1.0}',              { model: "b" },            '{"model":"b","n":1.0}'],
    [' { "model" : "a" ,\n "n" : -0 } \n', { model: "b" },            ' { "model" : "b" ,\n "n" : -0 } \n'],
    ['{"mod\\u0065l":"a","n":1e999}',      { model: "b" },            '{"mod\\u0065l":"b","n":1e999}'],
    ['{"a":{"model":"x"},"model":"a"}',    { model: "b" },            '{"a":{"model":"x"},"model":"b"}'],
    ['{"a":{"model":1,"model":2}}',        { model: "b" },            '{"a":{"model":2},"model":"b"}'],
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

t.test("a mark at the beginning, as PowerShell 5.1 writes it, is no part of a body", async (t) => {
  t.equal(written('\ufeff{"a":1}', { b: 2 }), '{"a":1,"b":2}');
  t.ok(isRefusal(readJson(Buffer.from("\ufeff\ufeff{}x"))));
});

t.test("a copy has fields of its own, and what is not set leaves as it came", async (t) => {
  const turns = `[ {"text":"${LONG}","n":1.0} ]`;
  const came = `{"model":"a","turns":${turns},"tools":[{"text":"${LONG}"},1] ,"store":true}`;
  const body = read(came);
  const copy = body.copy();
  copy.set("include", ["x"]);
  copy.set("store", undefined);
  copy.set("tools", [1]);
  t.equal(copy.bytes().toString(), `{"model":"a","turns":${turns},"tools":[1],"include":["x"]}`);
  t.equal(body.bytes().toString(), came);
  t.equal(body.read("store"), true);
  body.set("user", "u");
  body.copy().set("user", "another");
  t.equal(body.read("user"), "u", "also once it was changed");
});

t.test("the bytes are a copy, so that they can be freed once they are sent", async (t) => {
  const body = read(`{"a":[{"text":"${LONG}"}],"model":"b"}`);
  t.not(body.bytes(), body.bytes());
  t.strictSame(body.bytes(), body.bytes());
});

t.test("a long conversation beyond ASCII", async (t) => {
  const turns = [{ role: "user", text: LONG }, { text: "\n" }];
  const came = JSON.stringify({ model: "đ", turns, n: 1 });

  t.test("is dropped during the reply, and comes back", async (t) => {
    const body = read(came);
    body.shed();
    t.strictSame(body.standIns, ["turns"]);
    t.equal(body.bytes().toString(), came);
    t.throws(() => JSON.stringify(body.outline), /not read/);
    t.strictSame(body.read("turns"), turns);
  });

  t.test("cannot be sent by another name before it is read", async (t) => {
    const body = read(came);
    body.shed();
    body.set("moved", body.outline["turns"]);
    t.throws(() => body.bytes(), /not read/);
  });
});

t.test("a long list is read in parts, as it would be at once", async (t) => {
  const entry = { text: "đ".repeat(20_000), list: [1, [2, 3]] };
  const turns = Array(9).fill(entry);
  const nested = JSON.stringify({ a: [turns, 1], model: "m", turns });
  t.strictSame(read(nested).json(), JSON.parse(nested));
  const came = JSON.stringify({ turns, model: "m", tools: turns });
  for (const [from, to] of [
    [/\},\{/, "},,{"],
    [/\}\]/, "},]"],
    [/\[\{/, "[,{"],
    [/\},\{/, "}],[{"],
    [/\},\{/, "}},{"],
    [/\},\{/, '},"x":{'],
  ] as const) {
    for (let at = 0; at < 9; at++) {
      let seen = 0;
      const all = new RegExp(from, "g");
      const text = came.replace(all, (match) => (seen++ === at ? to : match));
      if (text !== came) t.ok(isRefusal(readJson(Buffer.from(text), "turns")), `${to} at ${at}`);
    }
  }
});

t.test("a body that a thread has written is read where it is asked for", async (t) => {
  const tools = [{ name: "đ" }];
  const object = { model: "m", messages: [{ text: LONG }], tools, n: undefined };
  const parts = bodyParts(object, new Set(["messages"]));
  const body = RequestBody.from({ ...parts, measured: undefined, turns: undefined });
  t.equal(body.bytes().toString(), JSON.stringify(object));
  t.same(body.outline["messages"], [{}]);
  t.strictSame(body.standIns, ["messages"]);
  body.set("model", "other");
  t.equal(body.bytes().toString(), JSON.stringify({ ...object, model: "other" }));
  t.strictSame(body.json(), { model: "other", messages: [{ text: LONG }], tools });
});

t.test("a change inside of a field is written with the whole body", async (t) => {
  const body = read(`{"a": {"b":1.0}, "turns":[{"text":"${LONG}"}]}`);
  const fields = body.rewrite();
  Object.assign(fields["a"] as object, { c: 2 });
  t.equal(body.bytes().toString(), `{"a":{"b":1,"c":2},"turns":[{"text":"${LONG}"}]}`);
});
