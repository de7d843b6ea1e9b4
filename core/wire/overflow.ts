/**
 * The words in which providers say that a request is larger than the model's context window:
 * Anthropic, OpenAI, DeepSeek, Google, xAI, Moonshot, Z.ai, Alibaba, MiniMax and Amazon.
 */
const WORDS = new RegExp(
  [
    "maximum context length",
    "context window",
    "input token count .{0,99}exceeds the maximum number of tokens",
    "maximum prompt length is",
    "exceeded model token limit",
    "prompt exceeds max length",
    "range of input length should be",
    "input is too long for requested model",
    "prompt is too long",
    "exceed context limit",
    "too large for model with",
  ].join("|"),
  "i",
);

const CODES: readonly unknown[] = [
  "context_length_exceeded",
  "model_max_prompt_tokens_exceeded",
  "1261",
];

/** Returns true if a provider's error says that the request does not fit the context window. */
export function isOverflow(status: number, code: unknown, message: string): boolean {
  if (CODES.includes(code)) return true;
  // Rate limits mention the context window too, but a retry helps there.
  if (status === 429 || (status >= 401 && status <= 403)) return false;
  return WORDS.test(message);
}

/** The tokens of a request that does not fit, and of the model's window. */
interface OverflowSizes {
  readonly tokens: number;
  readonly window: number;
}

/** A count of tokens: `200000` or `200,000`. */
const count = (name: "tokens" | "more" | "window") => `(?<${name}>\\d[\\d,]{0,14})`;
const TOKENS = count("tokens");
const WINDOW = count("window");

/** The sentences in which providers say both sizes. Any other number may be an id or a code. */
const SIZES = [
  // Anthropic
  `${TOKENS} tokens > ${WINDOW} maximum`,
  `exceed context limit: ${TOKENS} \\+ ${count("more")} > ${WINDOW}`,
  // OpenAI, DeepSeek, vLLM and OpenRouter
  `maximum context length is ${WINDOW} tokens.{0,9}however.{0,99}? ${TOKENS} (?:input )?tokens`,
  // Google
  `token count \\(${TOKENS}\\) exceeds the maximum number of tokens allowed \\(${WINDOW}\\)`,
  // xAI
  `maximum prompt length is ${WINDOW} but the request contains ${TOKENS} tokens`,
  // Moonshot
  `token limit: ${WINDOW} \\(requested: ${TOKENS}\\)`,
  // Mistral
  `contains ${TOKENS} tokens.{0,99} too large for model with ${WINDOW} maximum`,
].map((sentence) => new RegExp(sentence, "i"));

/** Reads both sizes of an error, if it is one of the known sentences. */
export function overflowSizes(message: string): OverflowSizes | undefined {
  for (const sentence of SIZES) {
    const { tokens, more, window } = sentence.exec(message)?.groups ?? {};
    if (tokens === undefined || window === undefined) continue;
    const sizes = { tokens: number(tokens) + number(more ?? "0"), window: number(window) };
    if (sizes.tokens > sizes.window) return sizes;
  }
  return undefined;
}

const number = (text: string) => Number(text.replaceAll(",", ""));

/**
 * Returns the message of an overflow in the words that Claude Code looks for. It reads both numbers
 * to decide how much to cut.
 */
export function overflowForMessages(message: string, sizes: OverflowSizes | undefined): string {
  const prefix = "prompt is too long: ";
  if (message.startsWith(prefix)) return message;
  if (!sizes) return prefix + message;
  return `${prefix}${sizes.tokens} tokens > ${sizes.window} maximum; ${message}`;
}

/**
 * Returns the message of a provider's error for clients of Messages, if it says that the request is larger than the
 * model's window; else undefined. `estimate` returns the sizes to name if the message does not say them.
 */
export function overflowMessage(
  { status, code, message }: ProviderError,
  estimate?: () => OverflowSizes | undefined,
): string | undefined {
  if (!isOverflow(status, code, message)) return undefined;
  return overflowForMessages(message, overflowSizes(message) ?? estimate?.());
}

interface ProviderError {
  readonly status: number;
  readonly code?: unknown;
  readonly message: string;
}
