import assert from "node:assert/strict";
import t from "tap";
import { readJson } from "../../../core/body/request-body.ts";
import { isObject } from "../../../core/process/json.ts";
import { RawJson } from "../../../core/process/raw-json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { Random } from "../../support/random.ts";
import { randomJson } from "../body/random-json.ts";

const TOKENS = /"(?:[^"\\]|\\.)*"|[^"\s]/g;

/** Returns a tree as `JSON.parse` reads it. */
function plain(value: unknown): unknown {
  if (value instanceof RawJson) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

t.test("numbers are written as they came, all else as JSON.stringify does", async (t) => {
  const random = Random.printed();
  let kept = 0;
  for (let at = 0; at < 2_000; at++) {
    const text = randomJson(random);
    const wanted: unknown = JSON.parse(text);
    const read = RawJson.parse(text);
    if (read === undefined) {
      assert.equal(RawJson.write(wanted), JSON.stringify(wanted));
      continue;
    }
    kept++;
    const own = JSON.stringify(wanted);
    assert.deepStrictEqual(JSON.stringify(plain(read)), own, text);
    const written = RawJson.write(read);
    assert.deepStrictEqual(JSON.parse(written), wanted, text);
    const again = RawJson.parse(written);
    assert.equal(again === undefined ? JSON.stringify(wanted) : RawJson.write(again), written);
  }
  t.ok(kept > 200, `${kept} had numbers to keep`);
});

t.test("each form of a number stays", async (t) => {
  for (const number of ["1.0", "-0", "1e400", "1E5", "12345678901234567891", "0.10", "-1.50e-3"]) {
    for (const text of [`{"a":${number}}`, `[1,{"b":[${number}]},"1.0"]`]) {
      const read = RawJson.parse(text);
      t.equal(RawJson.write(read), text.match(TOKENS)?.join(""));
    }
  }
  t.equal(RawJson.parse('{"a":12,"b":1.5}'), undefined, "nothing to keep");
  t.equal(RawJson.parse('{"a":1.0'), undefined, "no JSON");
  t.equal(RawJson.parse(`${"[".repeat(300)}1.0${"]".repeat(300)}`), undefined, "too deep");
});

t.test("names that are numbers stay where they came", async (t) => {
  for (const text of [
    '{"b":1,"2":{"x":1,"1":2},"a":3}',
    '[{"__proto__":1,"0":2}]',
    '{"10":1,"9":2}',
  ]) {
    t.equal(RawJson.write(RawJson.parse(text)), text);
    t.strictSame(JSON.stringify(RawJson.parse(text)), JSON.stringify(JSON.parse(text)));
  }
  const own = '{"toJSON":1,"0":2}';
  t.strictSame(JSON.parse(RawJson.write(RawJson.parse(own))), JSON.parse(own));
});

t.test("a body keeps numbers and names in the arguments of tools, and no others", async (t) => {
  const input = '{"id":12345678901234567891,"n":1.0,"2":{"b":1,"1":2}}';
  const call = `{"type":"tool_use","input":${input},"n":1.0}`;
  const tools = '[{"properties":{"input":{"minimum":1.0}}}]';
  const body = readJson(
    Buffer.from(`{"n":1.0,"messages":[{"content":[${call}]}],"tools":${tools}}`),
    "messages",
  );
  assert.ok(!isRefusal(body));
  t.equal(body.read("n"), 1);
  body.set("messages", [...(body.read("messages") as unknown[])]);
  body.set("tools", [...(body.read("tools") as unknown[])]);
  t.equal(
    body.bytes().toString(),
    `{"n":1.0,"messages":[{"content":[{"type":"tool_use","input":${input},"n":1}]}],` +
      `"tools":[{"properties":{"input":{"minimum":1}}}]}`,
  );
  body.shed();
  t.match(RawJson.write(body.read("messages")), input);
});
