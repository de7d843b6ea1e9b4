/** 64 words of exactly four bytes, so that a token of filler is one word. */
const words = (
  "the and sea toll road gate coin pays each call that runs here slow fast then more less " +
  "near away from with into over when ends sand rain wind moon star tree leaf salt fish boat " +
  "port quay rope sail deck mast hull tide wave foam gull crab reef isle cove dune palm rice " +
  "corn bean plum pear kite bell drum song day sky"
)
  .split(" ")
  .map((word) => (word.length === 3 ? `${word} ` : word));

const fillerBlock = "toll gate by the sea, ".repeat(186);

/** The simulator's tokenizer: one token per four bytes of UTF-8, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Returns exactly `tokens` tokens of ASCII. The same seed gives the same words. */
export function fillerText(seed: number, tokens: number): string {
  const chosen = new Array<string>(tokens);
  let state = seed >>> 0;
  for (let i = 0; i < tokens; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    chosen[i] = words[state >>> 26] ?? "toll";
  }
  return chosen.join("");
}

/** Yields `bytes` bytes of text in blocks of 4 KB, so that 16 GB need no memory. */
export function* fillerBlocks(bytes: number): Generator<string> {
  let left = bytes;
  for (; left >= fillerBlock.length; left -= fillerBlock.length) yield fillerBlock;
  if (left > 0) yield fillerBlock.slice(0, left);
}

/** Cuts a text to `tokens` tokens, between characters. Undefined means no limit. */
export function cutToTokens(text: string, tokens: number | undefined): string {
  if (tokens === undefined) return text;
  const limit = tokens * 4;
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  const bytes = Buffer.from(text);
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/**
 * Splits a text into `parts` pieces, or into pieces of four characters. Never splits a surrogate
 * pair.
 */
export function pieces(text: string, parts?: number): string[] {
  const step = parts === undefined ? 4 : Math.max(1, Math.ceil(text.length / parts));
  const cut: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start + step;
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last < 0xdc00) end++;
    cut.push(text.slice(start, end));
    start = end;
  }
  return cut;
}
