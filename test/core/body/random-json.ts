import type { Random } from "../../support/random.ts";

/** Random JSON as text, so that it has what no serializer writes: spaces, escapes of any character, odd numbers. */

const NAMES = [
  ...["content", "text", "arguments", "input", "content", "text"],
  ...["content", "text", "arguments", "input", "thinking", "description", "messages", "tools"],
  ...["type", "data", "source", "media_type", "format", "image_url", "url", "signature"],
  ...[
    "model",
    "mod\\u0065l",
    "max_tokens",
    "",
    "__proto__",
    "constructor",
    "a\\nb",
    "đ",
    "\\ud800",
  ],
];
const NUMBERS = [
  "0",
  "-0",
  "1",
  "1.0",
  "1e999",
  "-1E-9",
  "12345678901234567890",
  "0.1",
  "3",
  "9".repeat(25),
  "9".repeat(26),
];
const SHORT = ["text", "user", "base64", "image", "tool_use", "reasoning", "pdf", "data:,x", "a"];
const PIECES = [
  ...["the quick brown fox ", "Xin chào các bạn ", "漢字かな", "🌏🎉", "0123456789abcdef", "x"],
  ...['\\"', "\\\\", "\\n", "\\/", "\\u0041", "\\u00e9", "\\u1ea1", "\\ud83d\\ude00", "\\ud83d"],
  ...["\\ude00", "\\u0000", "{", "]", ":", ",", "\u2028", "\u007f"],
];
const SPACES = ["", "", "", " ", "\n", "\t", "\r\n  "];

export function randomJson(random: Random): string {
  return random.chance(0.97) ? object(random, 0) : value(random, 0);
}

function value(random: Random, depth: number): string {
  const kind = depth > 5 ? 2 + random.below(4) : depth === 0 ? random.below(4) : random.below(8);
  if (kind === 0) return object(random, depth + 1);
  if (kind === 1) {
    const entries = Array.from({ length: random.below(4) }, () =>
      spaced(random, value(random, depth + 1)),
    );
    return `[${entries.length === 0 ? random.pick(SPACES) : entries.join(",")}]`;
  }
  if (kind === 2) return random.pick(NUMBERS);
  if (kind === 3) return random.pick(["true", "false", "null"]);
  return `"${kind === 4 ? random.pick(SHORT) : string(random)}"`;
}

function object(random: Random, depth: number): string {
  const fields = Array.from({ length: random.below(6) }, () => {
    const name = `"${random.pick(NAMES)}"`;
    return `${spaced(random, name)}:${spaced(random, value(random, depth))}`;
  });
  return spaced(random, `{${fields.length === 0 ? random.pick(SPACES) : fields.join(",")}}`);
}

/** Of any length, around that from which texts are left out. */
function string(random: Random): string {
  const length = random.pick([0, 3, 20, 33, 256, 300, 700, 2_500]);
  const few = Array.from({ length: 1 + random.below(4) }, () => random.pick(PIECES));
  let text = "";
  while (text.length < length) text += random.pick(few);
  return text;
}

const spaced = (random: Random, text: string) => random.pick(SPACES) + text + random.pick(SPACES);

const HOSTILE = [
  ...['"', "\\", "{", "}", "[", "]", ":", ",", "\u0000", "\n", "\\u12", "\\x", "NaN", "01", "1."],
  ...[
    "'",
    "//",
    "\ufeff",
    "\u00a0",
    "undefined",
    "-",
    "+1",
    ".5",
    "\\ud83d",
    "tru",
    "\t",
    "\u001f",
  ],
];

/** Cuts, doubles, replaces or inserts something at a random place. */
export function damaged(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + random.below(4));
  const put = random.chance(0.1) ? random.bytes(1 + random.below(3)) : random.pick(HOSTILE);
  switch (random.below(4)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(to)]);
    default:
      return Buffer.concat([bytes, Buffer.from(put)]);
  }
}
