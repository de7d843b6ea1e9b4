import t from "tap";
import { SseReader } from "../../../core/sse/reader.ts";
import { type Refusal, refuse } from "../../../core/wire/refusal.ts";
import { wires } from "../../../core/wire/wires.ts";

/** The code by which Codex decides if it sends the call again: it does after the last two. */
const CODES: readonly [Refusal, string][] = [
  [refuse.insufficientBalance("m", { code: "key_budget_exceeded" }), "insufficient_quota"],
  [refuse.badRequest("m", { code: "context_length_exceeded" }), "context_length_exceeded"],
  [refuse.badRequest("m", "tools"), "invalid_prompt"],
  [refuse.forbidden("m"), "invalid_prompt"],
  [refuse.rateLimited("m", { code: "limit" }), "rate_limit_exceeded"],
  [refuse.as(408, "timeout_error", "m"), "server_error"],
  [refuse.upstreamFailed("m"), "server_error"],
];

t.test("a stream of Responses that the gateway ends says so as OpenAI does", async (t) => {
  for (const [refusal, code] of CODES) {
    const events: Record<string, unknown>[] = [];
    const stream = { id: "call", at: 1_700_000_000_500, model: "m", events: 7 };
    new SseReader().push(Buffer.from(wires.responses.errorEvent(refusal, stream)), (event) => {
      const data = JSON.parse(event.data);
      t.equal(event.type, data.type);
      events.push(data);
    });
    const { type, param } = refusal;
    const stated = { code: refusal.code ?? type, message: "m", param };
    t.strictSame(events, [
      { type: "error", sequence_number: 7, ...stated, error: { type, ...stated } },
      {
        type: "response.failed",
        sequence_number: 8,
        response: {
          ...{ id: "call", object: "response", created_at: 1_700_000_000, status: "failed" },
          ...{ error: { code, message: "m" }, incomplete_details: null, instructions: null },
          ...{ metadata: {}, model: "m", output: [], parallel_tool_calls: true },
          ...{ temperature: null, tool_choice: "auto", tools: [], top_p: null, usage: null },
        },
      },
    ]);
  }
});
