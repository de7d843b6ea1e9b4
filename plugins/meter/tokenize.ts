import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../core/plugin/index.ts";
import { addMedia, type Media, noMedia } from "./media.ts";
import { PAGES_MAX } from "./pdf-pages.ts";

/** Maximum length of a run that is tokenized: the tokenizer's time grows with the square of the length. */
const RUN_CHARACTERS_MAX = 2_000;
/** Maximum text that is counted exactly, which takes 1 s, or 3 s at worst. Text beyond it is estimated. */
const EXACT_BYTES_MAX = 1_000_000;
/** Tokens of a turn, a tool and a request in addition to their text. */
const TOKENS_PER_TURN = 4;
const TOKENS_PER_TOOL = 10;
const TOKENS_PER_REQUEST = 3;
/** A signature carries the whole thinking, in base64. Clients mostly get a summary of it, or none. */
const SIGNATURE_CHARACTERS_PER_TOKEN = 6;
/** platform.claude.com: tools that the client runs and the provider defines. Computer use has a prompt too. */
const BUILT_IN_TOOLS: readonly (readonly [type: RegExp, tokens: number])[] = [
  [/^bash_/, 245],
  [/^text_editor_/, 700],
  [/^computer_/, 735 + 482],
];

/** The amounts of each kind of input in a Messages request. */
export interface CountedInput extends Pick<Media, "images" | "pages" | "pdfBytes"> {
  /** Tokens of all texts, except of thinking before the last message of the user. */
  readonly textTokens: number;
  readonly earlierThinkingTokens: number;
  /** Bytes in base64 of documents whose number of pages is unknown. */
  readonly documentBytes: number;
  readonly hasTools: boolean;
  /** True if the request demands that a tool is called. */
  readonly isForced: boolean;
  readonly hasSchema: boolean;
}

/**
 * Counts the input of a Messages request by the o200k tokenizer. Text beyond the first 1,000,000 bytes counts at the
 * rate of those. The tokens of files depend on the model.
 */
export function countedInput(body: JsonObject): CountedInput {
  const tally = new Tally();
  tally.tokens += TOKENS_PER_REQUEST;
  addContent(body["system"], tally);
  const turns = arrayOf(body["messages"]);
  const running = turns.findLastIndex((turn) => isObject(turn) && isOfUser(turn));
  for (const [at, turn] of turns.entries()) {
    tally.isEarlier = at < running;
    tally.tokens += TOKENS_PER_TURN;
    if (isObject(turn)) addContent(turn["content"], tally);
  }
  const tools = arrayOf(body["tools"]);
  for (const tool of tools) {
    const type = objectOf(tool)?.["type"];
    const builtIn = BUILT_IN_TOOLS.find(([known]) => known.test(String(type)));
    tally.tokens += builtIn?.[1] ?? TOKENS_PER_TOOL;
    if (!builtIn) tally.add(JSON.stringify(tool));
  }
  const choice = objectOf(body["tool_choice"])?.["type"];
  const { images, pages, pdfBytes, officeBytes, otherBytes } = tally.media;
  return {
    textTokens: tally.tokens,
    earlierThinkingTokens: tally.earlierThinkingTokens,
    images,
    pages,
    pdfBytes,
    documentBytes: officeBytes + otherBytes,
    hasTools: tools.length > 0,
    isForced: choice === "any" || choice === "tool",
    hasSchema: isObject(objectOf(body["output_config"])?.["format"] ?? body["output_format"]),
  };
}

/** Returns true for a turn in which the user says something, not only an agent's results. */
function isOfUser(turn: JsonObject): boolean {
  if (turn["role"] !== "user") return false;
  const { content } = turn;
  if (typeof content === "string") return true;
  return arrayOf(content).some((block) => objectOf(block)?.["type"] !== "tool_result");
}

class Tally {
  tokens = 0;
  earlierThinkingTokens = 0;
  /** True for turns before the last message of the user. */
  isEarlier = false;
  readonly media = noMedia();
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
  if (type === "thinking" || type === "redacted_thinking") return addThinking(block, tally);
  if (type === "image" || type === "document") {
    if (isObject(source)) addSource(type, source, tally);
    if (type === "image") return;
  }
  addContent(block["content"], tally);
  for (const name of ["text", "title", "context", "name"]) {
    const text = block[name];
    if (typeof text === "string") tally.add(text);
  }
  if (block["input"] !== undefined) tally.add(JSON.stringify(block["input"]));
}

/** Adds the contents of an image or document. */
function addSource(type: "image" | "document", source: JsonObject, tally: Tally): void {
  const { data, media_type: mediaType } = source;
  if (source["type"] !== "base64" || typeof data !== "string") {
    if (type === "image") tally.media.images.push(undefined);
    else if (source["type"] === "url" || source["type"] === "file") tally.media.pages += 1;
    addContent(data, tally);
    addContent(source["content"], tally);
  } else addFile(typeof mediaType === "string" ? mediaType : "", data, tally);
}

/** Adds a file. A PDF whose pages cannot be counted counts by its size instead. */
function addFile(type: string, data: string, tally: Tally): void {
  const file = { ...noMedia(), inflation: tally.media.inflation };
  const text = addMedia(type.toLowerCase(), data, file);
  if (text !== undefined) tally.add(text);
  for (const size of file.images) tally.media.images.push(size);
  if (file.pages >= PAGES_MAX) {
    tally.media.otherBytes += file.pdfBytes;
    return;
  }
  tally.media.pages += file.pages;
  tally.media.pdfBytes += file.pdfBytes;
  tally.media.officeBytes += file.officeBytes;
  tally.media.otherBytes += file.otherBytes;
}

/** Adds thinking: its text, or the length that its signature shows if that is more. */
function addThinking(block: JsonObject, tally: Tally): void {
  const { thinking, signature, data } = block;
  const before = tally.tokens;
  if (typeof thinking === "string") tally.add(thinking);
  const state = typeof signature === "string" ? signature : data;
  const hidden = typeof state === "string" ? state.length / SIGNATURE_CHARACTERS_PER_TOKEN : 0;
  const tokens = Math.max(tally.tokens - before, hidden);
  tally.tokens = before + (tally.isEarlier ? 0 : tokens);
  if (tally.isEarlier) tally.earlierThinkingTokens += tokens;
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
