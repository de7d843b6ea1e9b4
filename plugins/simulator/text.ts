/** The simulator's tokenizer: one token per four bytes of UTF-8, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

const FILLER = "The gate by the sea takes a toll. ".repeat(2);

/** Returns exactly `tokens` tokens of filler. */
export function fillerText(tokens: number): string {
  return FILLER.repeat(Math.ceil((tokens * 4) / FILLER.length)).slice(0, tokens * 4);
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
