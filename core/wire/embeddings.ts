import { arrayOf, objectOf } from "../process/json.ts";
import { checkFields } from "./check.ts";
import { UNSTREAMED } from "./media.ts";
import { refuse } from "./refusal.ts";
import { tokensOf } from "./usage/numbers.ts";
import type { Wire } from "./wire.ts";

/** OpenAI's limit. OpenAI docs: embeddings reference. */
const TEXTS_MAX = 2_048;

/** Embeddings: billed by the tokens of the input. A call has a text, the tokens of one, or a list of either. */
export const embeddings: Wire = {
  ...UNSTREAMED,
  protocol: "embeddings",

  check(body) {
    const refusal = checkFields(body, { stream: "flag" });
    if (refusal) return refusal;
    if (body["stream"] === true) {
      return refuse.badRequest("stream: embeddings are not streamed; leave it out", "stream");
    }
    const problem = problemOf(body["input"]);
    return problem === undefined ? undefined : refuse.badRequest(`input: ${problem}`, "input");
  },

  choices: (body) => textsIn(body.read("input")),
  classify: () => "data",
  judge: (body) => (arrayOf(body["data"]).length > 0 ? "charged" : "none"),

  readReply(reply, usage) {
    const reported = objectOf(reply["usage"]);
    // Every text has a token: a report of 0 is none.
    const input = tokensOf(reported?.["prompt_tokens"]) || tokensOf(reported?.["total_tokens"]);
    usage.inputTokens = input || 0;
    usage.inputReported = usage.inputTokens > 0;
    // There is no output.
    usage.outputReported = true;
  },

  readEvent: () => false,
};

function textsIn(input: unknown): number {
  const list = arrayOf(input);
  return list.length > 0 && !list.every(isToken) ? list.length : 1;
}

function problemOf(input: unknown): string | undefined {
  if (isText(input)) return undefined;
  const list = arrayOf(input);
  const isRead =
    list.length > 0 && (list.every(isText) || list.every(isToken) || list.every(isTokens));
  if (!isRead) return "a text, a list of texts, or the tokens of either are required";
  const texts = textsIn(list);
  return texts <= TEXTS_MAX ? undefined : `at most ${TEXTS_MAX} texts per call, got ${texts}`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isToken(value: unknown): boolean {
  return typeof value === "number";
}

function isTokens(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isToken);
}
