import { arrayOf, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import type { SummarySeal } from "../state/seal.ts";

/** The most tokens of a summary and the thinking before it: the context is full when a client asks for one. */
const SUMMARY_TOKENS_MAX = 16_384;

const ASK = `Stop here and summarize the conversation. Your summary replaces all that was said so far: you will go
on from it and see nothing else. State, as far as the conversation has it:
- what the user wants, with every wish and limit that still counts, in the user's own words where they matter;
- what was decided and found out, and why;
- what was done, with the exact names of files, commands, functions, addresses and values;
- errors that came up, and how they were solved;
- what is under way, and the next step.
Call no tool and ask no question. Reply with the summary alone.`;

const OPENED = "The conversation so far was too long. This is a summary of it:\n\n";

/** Returns true if a Responses request ends with the demand for a compaction. */
export function asksForSummary({ input }: JsonObject): boolean {
  return objectOf(arrayOf(input).at(-1))?.["type"] === "compaction_trigger";
}

/**
 * Turns a demand for a compaction into a request for a summary. The tools stay, as the history has calls of them, but the
 * model may call none. A format of the reply is left out, and so is much thinking, and the updates of both. So is the client's
 * limit: with a low one the thinking alone would end the reply.
 */
export function summaryRequest(body: JsonObject): JsonObject {
  const { text: _, input, reasoning, ...rest } = body;
  const said = arrayOf(input)
    .slice(0, -1)
    .filter((item) => objectOf(item)?.["type"] !== "configuration_update");
  return {
    ...rest,
    input: [...said, userItem(ASK)],
    tool_choice: "none",
    max_output_tokens: SUMMARY_TOKENS_MAX,
    ...(objectOf(reasoning) && { reasoning: { effort: "low" } }),
  };
}

/** Opens the summaries that a gateway has sealed for this account. They are texts of the user, who has brought them. */
export function openSummaries(body: JsonObject, summaries: SummarySeal): JsonObject {
  const items = arrayOf(body["input"]);
  let isOpened = false;
  const input = items.map((item) => {
    const { type, encrypted_content: sealed } = objectOf(item) ?? {};
    const summary = type === "compaction" ? summaries.open(sealed) : undefined;
    if (summary === undefined) return item;
    isOpened = true;
    return userItem(OPENED + summary);
  });
  return isOpened ? { ...body, input } : body;
}

function userItem(text: string): JsonObject {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}
