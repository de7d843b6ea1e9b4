/** A whole reply of Messages: 30 tokens of input, 10 of output. */
export const MESSAGES_REPLY = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "yes" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 30, output_tokens: 10 },
};
