import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import t from "tap";
import { type RequestBody, readJson } from "../../../core/body/request-body.ts";
import { isObject, JSON_MAX, type JsonObject } from "../../../core/process/json.ts";
import { excessOf, scanJson } from "../../../core/process/json-scan.ts";
import { RawJson } from "../../../core/process/raw-json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { contentsOf } from "../../../plugins/meter/bound.ts";
import { Random } from "../../support/random.ts";
import { damaged, randomJson } from "./random-json.ts";

// A million: JSON_DOCUMENTS=1000000 TAP_TIMEOUT=3600 node dist/test/core/body/random-bodies.test.js
const DOCUMENTS = Number(process.env["JSON_DOCUMENTS"] ?? 4_000);

/** Long enough, with the text of a document, to be read as Latin-1. */
const FILLER = "Hôm nay trời đẹp. ".repeat(60);
/** Entries of a list that is read in parts. */
const [WIDE, NARROW] = [`"${"một đoạn dài. ".repeat(2_500)}",`, `"${"x".repeat(33_000)}",`];
/** So many documents are in a list that is read in parts, since it takes long. */
const IN_PARTS = 1 / 50;
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g;

/** The raw text of each top-level field by its decoded name, found by regular expression: `null` if a name comes twice. */
function fieldsOf(text: string): Map<string, string> | null {
  const fields = new Map<string, string>();
  let depth = 0;
  let name: string | undefined;
  let last = "";
  let raw = "";
  for (const [token] of text.matchAll(TOKENS)) {
    if (depth === 1 && (token === "," || token === "}") && name !== undefined) {
      if (fields.has(name)) return null;
      fields.set(name, raw.trim());
      name = undefined;
    } else if (depth === 1 && token === ":" && name === undefined) {
      name = JSON.parse(last);
      raw = "";
      continue;
    }
    if ("{[".includes(token)) depth++;
    if ("}]".includes(token)) depth--;
    if (token.trim() !== "") last = token;
    raw += token;
  }
  return fields;
}

/** Returns the object that the gateway should read from the bytes, or why there is none. */
function expected(bytes: Buffer): JsonObject | string {
  if (!isUtf8(bytes)) return "not UTF-8";
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return bytes.length === 0 ? "empty" : "not valid JSON";
  }
  if (!isObject(value)) return "must be a JSON object";
  return fieldsOf(bytes.toString("utf8")) === null ? "sent twice" : value;
}

function namesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, one) => sum + namesIn(one), own);
}

const counts = { read: 0, refused: 0, edits: 0, repeated: 0 };

const MARK = Buffer.from("\ufeff");

function check(random: Random, came: Buffer): void {
  const hasMark = MARK.equals(came.subarray(0, MARK.length));
  const bytes = hasMark ? came.subarray(MARK.length) : came;
  const wanted = expected(bytes);
  const got = readJson(came, "messages");
  if (typeof wanted === "string") {
    assert.ok(isRefusal(got), `accepted, though it is ${wanted}`);
    // Without its quotes, a text may open hundreds of lists, or name a thousand fields.
    const isBroken = wanted === "not valid JSON" && isBeyondLimits(bytes);
    assert.ok(isBroken || got.message.includes(wanted), `${got.message}, not: ${wanted}`);
    counts.refused++;
    return;
  }
  assert.ok(!isRefusal(got), "refused");
  counts.read++;
  const repeats =
    namesIn(wanted) <
    [...bytes.toString("utf8").matchAll(TOKENS)].filter(([token]) => token === ":").length;
  const text = bytes.toString("utf8");
  const isLong = ([token]: RegExpExecArray) => /^[^"]/.test(token) && token.trim().length > 25;
  const hasLongNumber = [...text.matchAll(TOKENS)].some(isLong);
  // In the arguments of tools, numbers stay as they came.
  const kept = RawJson.parse(text, ["messages", "content", "input"]);
  const exact = isObject(kept) ? kept : wanted;
  if (repeats || hasLongNumber) {
    counts.repeated++;
    // A number beyond those of a parser is written as null.
    return assert.equal(got.bytes().toString(), RawJson.write(exact));
  }
  assert.equal(excessOf(bytes, 4, 30), excessOfScan(bytes));
  assert.deepEqual(got.bytes(), bytes);
  checkBound(got, exact);
  checkEdits(random, got.copy(), bytes, wanted);
  assert.deepStrictEqual(got.json(), exact);
  assert.deepEqual(got.bytes(), bytes);
}

function excessOfScan(bytes: Buffer): "levels" | "values" | undefined {
  const scan = scanJson(bytes, 4, 30);
  return scan === "levels" || scan === "values" ? scan : undefined;
}

function isBeyondLimits(bytes: Buffer): boolean {
  const colons = bytes.filter((byte) => byte === 0x3a).length;
  return excessOf(bytes) !== undefined || colons > JSON_MAX.fields;
}

/** The contents that a bound is computed from are those of the parsed body. */
function checkBound({ outline }: RequestBody, wanted: JsonObject): void {
  assert.deepStrictEqual(contentsOf(outline), contentsOf(wanted));
}

/** Edited fields have their new values, all others the bytes that came. */
function checkEdits(random: Random, body: RequestBody, bytes: Buffer, wanted: JsonObject): void {
  const changed: JsonObject = { ...wanted };
  const touched = new Set<string>();
  for (const name of [...Object.keys(wanted), "model", "max_tokens", "new\n đ"]) {
    if (name === "__proto__" || !random.chance(0.3)) continue;
    touched.add(name);
    counts.edits++;
    if (random.chance(0.4)) {
      body.set(name, undefined);
      delete changed[name];
      continue;
    }
    const value = random.pick([1, "x", "\ud800", [{ a: "đ" }], { b: null }]);
    body.set(name, value);
    changed[name] = value;
  }
  const written = body.bytes().toString("utf8");
  assert.deepStrictEqual(sorted(JSON.parse(written)), sorted(changed));
  const before = fieldsOf(bytes.toString("utf8"));
  const after = fieldsOf(written);
  assert.ok(before && after);
  for (const [name, raw] of before) if (!touched.has(name)) assert.equal(after.get(name), raw);
}

/** Fields as pairs in an order of their own: a field that was deleted and is set again comes last. */
function sorted(object: JsonObject): [string, unknown][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
}

t.test(
  "a body is read as JSON.parse reads it, bounded the same, and leaves as it came",
  async (t) => {
    const random = Random.printed();
    for (let at = 0; at < DOCUMENTS; at++) {
      const text = randomJson(random);
      const bytes = random.chance(0.4) ? damaged(random, text) : Buffer.from(text);
      try {
        check(random, bytes);
        const before = Buffer.from('{"model":"m","messages":[');
        check(random, Buffer.concat([before, bytes, Buffer.from(`,"${FILLER}"]}`)]));
        if (!random.chance(IN_PARTS)) continue;
        const pieces = [before, WIDE, bytes, `,${NARROW}`, bytes, ",0]}"];
        const parts = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
        check(random, parts);
        check(random, damaged(random, parts.toString()));
      } catch (error) {
        t.fail(`document ${at}: ${error}`, { json: bytes.toString("utf8") });
        break;
      }
    }
    t.comment(JSON.stringify(counts));
    for (const count of Object.values(counts)) t.ok(count > DOCUMENTS / 30, `${count}`);
  },
);
