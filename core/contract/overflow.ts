/**
 * The words in which providers say that a request is larger than the model's context window:
 * Anthropic, OpenAI, DeepSeek, Google, xAI, Moonshot, Z.ai, Alibaba, MiniMax and Amazon.
 */
const WORDS = new RegExp(
  [
    "maximum context length",
    "context window",
    "input token count .*exceeds the maximum number of tokens",
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
export interface OverflowSizes {
  readonly tokens: number;
  readonly window: number;
}

/** Reads both numbers of an error: the request's is the largest, the window's the first below it. */
export function overflowSizes(message: string): OverflowSizes | undefined {
  const numbers = (message.match(/\d[\d,]{3,}/g) ?? []).map((text) =>
    Number(text.replaceAll(",", "")),
  );
  const tokens = Math.max(...numbers);
  const window = numbers.find((number) => number < tokens);
  return window === undefined ? undefined : { tokens, window };
}

/**
 * Says an overflow in the words that Claude Code looks for. It reads both numbers to see how much to
 * cut.
 */
export function overflowForMessages(message: string, sizes: OverflowSizes | undefined): string {
  const prefix = "prompt is too long: ";
  if (message.startsWith(prefix)) return message;
  if (!sizes) return prefix + message;
  return `${prefix}${sizes.tokens} tokens > ${sizes.window} maximum; ${message}`;
}
