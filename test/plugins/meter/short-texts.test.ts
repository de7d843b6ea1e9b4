import t from "tap";
import { ShortTexts } from "../../../plugins/meter/short-texts.ts";

const LONG = "x".repeat(5_000);
const REPLY = {
  created: 1,
  data: [
    { b64_json: LONG, revised_prompt: 'a "quoted" text \\ with \u0001 and é' },
    { b64_json: `\\"${LONG}\\\\`, url: "" },
    { b64_json: `${LONG}"${LONG}\\` },
  ],
  usage: { input_tokens: 7, output_tokens: 1_234 },
};

/** Splits a text into chunks of so many bytes, and shortens them. */
function shortened(text: string, bytes: number): string {
  const texts = new ShortTexts();
  const whole = Buffer.from(text);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < whole.length; at += bytes) {
    parts.push(texts.shorten(whole.subarray(at, at + bytes)));
  }
  return Buffer.concat(parts).toString();
}

t.test("long texts of JSON are shortened, wherever its chunks end", async (t) => {
  const text = JSON.stringify(REPLY);
  const once = shortened(text, text.length);
  for (const bytes of [1, 2, 3, 7, 255, 256, 257, 1_000]) {
    t.equal(shortened(text, bytes), once, `${bytes} bytes at a time`);
  }
  t.ok(once.length < 2_500, `${once.length} bytes`);
  const read = JSON.parse(once) as typeof REPLY;
  t.strictSame(read.usage, REPLY.usage);
  t.equal(read.data.length, 3);
  t.strictSame(read.data[0], { ...REPLY.data[0], b64_json: "x".repeat(256) });
});

t.test("escapes stay whole", async (t) => {
  const escaped = JSON.stringify({ a: "\u0001".repeat(300), b: `${"é".repeat(300)}\n` });
  for (const bytes of [1, 5, 256]) {
    const read = JSON.parse(shortened(escaped, bytes)) as { a: string; b: string };
    t.equal(read.a, "\u0001".repeat(300));
    t.equal(read.b.at(-1), "\n");
  }
});
