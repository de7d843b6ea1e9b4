import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import t from "tap";
import { contentsOf, tokensOf } from "../../../plugins/meter/bound.ts";
import { familyOverhead } from "../../../plugins/meter/families.ts";
import { Random } from "../../support/random.ts";
import { CONVERSATIONS } from "./conversations.ts";

const HOLD = {
  isBound: true,
  asciiBytesPerToken: 3,
  otherBytesPerToken: 1.5,
  imageTokens: 2500,
  documentBytesPerToken: 25,
  densityShare: 1,
  overheadShare: 0,
};

/** A fixed seed, so that every run tests the same texts. */
const random = new Random(20_261_121);
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

const many = (count: number, make: () => string, between = "") =>
  Array.from({ length: count }, make).join(between);
const from = (alphabet: string, length: number) =>
  many(length, () => alphabet.charAt(random.below(alphabet.length)));
const number = (most: number, decimals: number) => (random.fraction() * most).toFixed(decimals);
const hex = (bytes: number) => random.bytes(bytes).toString("hex");
const uuid = () => hex(16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/** Texts with few bytes per token. */
const DENSE: Readonly<Record<string, string>> = {
  hexadecimal: hex(8_000),
  "hexadecimal, upper case": hex(8_000).toUpperCase(),
  base64: random.bytes(9_000).toString("base64"),
  "base64 in lines": random.bytes(9_000).toString("base64").replaceAll(/.{76}/g, "$&\n"),
  "a long number": from("0123456789", 9_000),
  "single digits": many(6_000, () => from("0123456789", 1), " "),
  "numbers of five digits": many(2_000, () => from("0123456789", 5), " "),
  CSV: many(900, () => `${random.below(100)},${number(1e4, 3)},${random.below(9)}`, "\n"),
  "JSON of fractions": JSON.stringify(Array.from({ length: 900 }, () => random.fraction())),
  "JSON of integers": JSON.stringify(Array.from({ length: 2_000 }, () => random.below(1000))),
  UUIDs: many(400, uuid, "\n"),
  addresses: many(900, () => many(4, () => String(random.below(256)), "."), "\n"),
  times: many(500, () => new Date(1.6e12 + random.below(1e11)).toISOString(), "\n"),
  "SVG paths": many(900, () => `M${number(500, 1)} ${number(500, 1)}L`),
  "log lines": many(
    150,
    () => JSON.stringify({ time: random.below(2e9), id: hex(16), ok: true }),
    "\n",
  ),
  punctuation: from("!@#$%^&*()_+-=[]{}|;':,./<>?", 9_000),
  "a random word in capitals": from(LETTERS.toUpperCase(), 9_000),
  "a random word": from(LETTERS, 9_000),
  "a random word in both": from(LETTERS + LETTERS.toUpperCase(), 9_000),
  base32: from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 9_000),
  DNA: from("ACGT", 9_000),
};

const tokensHeld = (content: string) => {
  const contents = contentsOf({ messages: [{ role: "user", content }] });
  return tokensOf(contents, HOLD, familyOverhead("gpt-4o"));
};

t.test("a hold for dense text", async (t) => {
  for (const [name, whole] of Object.entries(DENSE)) {
    t.test(`covers ${name}, short and long, with less than twice its tokens`, async (t) => {
      for (const text of [whole.slice(0, 120), whole.slice(0, 1_000), whole]) {
        const counted = Math.max(o200k(text), cl100k(text));
        const held = tokensHeld(text);
        t.ok(held >= counted, `${held} for ${counted} of ${text.length} characters`);
        // Names and separators around the text count a little.
        t.ok(held <= 1.5 * counted + 30, `${held} for ${counted}`);
      }
    });
  }

  t.test("covers dense text within prose", async (t) => {
    const prose = JSON.stringify(CONVERSATIONS["English prose"]);
    for (const [name, dense] of Object.entries(DENSE)) {
      const text = `${prose}\n${dense}\n${prose}`;
      const held = tokensHeld(text);
      t.ok(held >= Math.max(o200k(text), cl100k(text)), name);
    }
  });
});
