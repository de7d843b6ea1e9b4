/** Good replies of a provider, whole and as events, in each protocol. Each reports 30 tokens of input and 10 of output. */
export type TroubleProtocol = "messages" | "chat" | "responses";

interface GoodReply {
  readonly whole: object;
  /** Events of which none carries content. */
  readonly preamble: readonly string[];
  /** The rest of the stream. */
  readonly rest: readonly string[];
  /** An event that says that the stream failed. */
  error(error: object): string;
}

const event = (type: string, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const chunk = (data: object) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...data })}\n\n`;
const choice = (delta: object, reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: reason }],
});

const MESSAGES_USAGE = { input_tokens: 30, output_tokens: 10 };
const CHAT_USAGE = { prompt_tokens: 30, completion_tokens: 10, total_tokens: 40 };
const RESPONSES_USAGE = { input_tokens: 30, output_tokens: 10, total_tokens: 40 };
const message = { id: "m", type: "message", role: "assistant", model: "m", stop_sequence: null };
const item = { id: "i", type: "message", role: "assistant" };
const text = { type: "output_text", text: "served", annotations: [] };
const response = { id: "r", object: "response", created_at: 1, model: "m", error: null };
const done = {
  ...response,
  status: "completed",
  output: [{ ...item, status: "completed", content: [text] }],
  usage: RESPONSES_USAGE,
};

export const GOOD_REPLIES: Readonly<Record<TroubleProtocol, GoodReply>> = {
  messages: {
    whole: {
      ...message,
      content: [{ type: "text", text: "served" }],
      stop_reason: "end_turn",
      usage: MESSAGES_USAGE,
    },
    preamble: [
      event("message_start", {
        message: { ...message, content: [], stop_reason: null, usage: MESSAGES_USAGE },
      }),
      event("ping", {}),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ],
    rest: [
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "served" } }),
      event("content_block_stop", { index: 0 }),
      event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } }),
      event("message_stop", {}),
    ],
    error: (error) => event("error", { error }),
  },
  chat: {
    whole: {
      ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
      choices: [
        { index: 0, message: { role: "assistant", content: "served" }, finish_reason: "stop" },
      ],
      usage: CHAT_USAGE,
    },
    preamble: [": waiting\n\n", chunk(choice({ role: "assistant", content: "" }))],
    rest: [
      chunk(choice({ content: "served" })),
      chunk(choice({}, "stop")),
      chunk({ choices: [], usage: CHAT_USAGE }),
      "data: [DONE]\n\n",
    ],
    error: (error) => `data: ${JSON.stringify({ error })}\n\n`,
  },
  responses: {
    whole: done,
    preamble: [
      event("response.created", {
        sequence_number: 0,
        response: { ...response, status: "in_progress", output: [] },
      }),
      event("response.output_item.added", {
        ...{ sequence_number: 1, output_index: 0 },
        item: { ...item, status: "in_progress", content: [] },
      }),
      event("response.content_part.added", {
        ...{ sequence_number: 2, item_id: "i", output_index: 0, content_index: 0 },
        part: { ...text, text: "" },
      }),
    ],
    rest: [
      event("response.output_text.delta", {
        ...{ sequence_number: 3, item_id: "i", output_index: 0, content_index: 0 },
        delta: "served",
      }),
      event("response.completed", { sequence_number: 4, response: done }),
    ],
    error: (error) =>
      event("response.failed", {
        sequence_number: 9,
        response: { ...response, status: "failed", output: [], error },
      }),
  },
};
