import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { arrayOf, isObject, type JsonObject } from "../../core/contract/index.ts";

/** Longer texts are cut before they are tokenized: the tokenizer's time grows with the square of the length. */
const RUN_CHARACTERS_MAX = 2_000;
/** Text beyond this is estimated. Counting this much takes 1 s, or 3 s at worst. */
const EXACT_BYTES_MAX = 1_000_000;
/** Tokens that a turn, a tool and a request take besides their text. */
const TOKENS_PER_TURN = 4;
const TOKENS_PER_TOOL = 10;
const TOKENS_PER_REQUEST = 3;
const IMAGE_TOKENS = 1_200;
const DOCUMENT_BASE64_PER_TOKEN = 40;

/**
 * Returns the input tokens of a Messages request by the o200k tokenizer. Counts an image or document by its usual size,
 * and text beyond the first 1,000,000 bytes at the rate of those.
 */
export function tokensOfRequest(body: JsonObject): number {
  const tally = new Tally();
  tally.tokens += TOKENS_PER_REQUEST;
  addContent(body["system"], tally);
  for (const turn of arrayOf(body["messages"])) {
    tally.tokens += TOKENS_PER_TURN;
    if (isObject(turn)) addContent(turn["content"], tally);
  }
  for (const tool of arrayOf(body["tools"])) {
    tally.tokens += TOKENS_PER_TOOL;
    tally.add(JSON.stringify(tool));
  }
  return Math.ceil(tally.tokens);
}

class Tally {
  tokens = 0;
  private exactTokens = 0;
  private exactCharacters = 0;
  private bytesLeft = EXACT_BYTES_MAX;

  add(text: string): void {
    const bytes = Buffer.byteLength(text);
    const share = Math.min(1, this.bytesLeft / Math.max(1, bytes));
    const exact = text.slice(0, Math.floor(text.length * share));
    const counted = tokensOfText(exact);
    this.bytesLeft -= bytes * share;
    this.exactTokens += counted;
    this.exactCharacters += exact.length;
    const rate = this.exactTokens / Math.max(1, this.exactCharacters);
    this.tokens += counted + (text.length - exact.length) * rate;
  }
}

function addContent(content: unknown, tally: Tally): void {
  if (typeof content === "string") return tally.add(content);
  for (const block of arrayOf(content)) if (isObject(block)) addBlock(block, tally);
}

function addBlock(block: JsonObject, tally: Tally): void {
  const { type, source } = block;
  if (type === "image") {
    tally.tokens += IMAGE_TOKENS;
    return;
  }
  if (type === "document" && isObject(source) && source["type"] === "base64") {
    const { data } = source;
    if (typeof data === "string") tally.tokens += data.length / DOCUMENT_BASE64_PER_TOKEN;
    return;
  }
  addContent(block["content"], tally);
  if (isObject(source)) {
    addContent(source["data"], tally);
    addContent(source["content"], tally);
  }
  for (const name of ["text", "thinking", "title", "context", "name"]) {
    const text = block[name];
    if (typeof text === "string") tally.add(text);
  }
  if (block["input"] !== undefined) tally.add(JSON.stringify(block["input"]));
}

/** Returns the tokens of a text. Counts special tokens as plain text. */
export function tokensOfText(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    const end = cutAt(text, at);
    tokens += countTokens(text.slice(at, end), { disallowedSpecial: new Set() });
    at = end;
  }
  return tokens;
}

/** Returns the end of the run that begins at `from`: at a space, if its second half has one. */
function cutAt(text: string, from: number): number {
  const end = from + RUN_CHARACTERS_MAX;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(" ", end);
  return space > from + RUN_CHARACTERS_MAX / 2 ? space : end;
}
