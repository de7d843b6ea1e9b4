import type { JsonObject } from "../../../core/process/json.ts";
import { positiveInteger } from "../../../plugins/simulator/ask.ts";
import { responsesUsage } from "../../../plugins/simulator/endpoint.ts";
import { response } from "../../../plugins/simulator/responses.ts";
import type { Answer, Ending } from "./answer.ts";
import { type Ask, type Problem, problem, readTurns } from "./ask.ts";
import { openaiError, openaiErrorDetail } from "./openai-error.ts";
import { eventStream, type Protocol } from "./protocol.ts";
import { outputItems } from "./response-items.ts";

/** OpenAI's Responses protocol. Source: the declarations of the `openai` package. */
export const responses: Protocol = {
  path: "/v1/responses",
  idHeader: "x-request-id",
  read,
  whole: (answer) => JSON.stringify(finalResponse(answer)),
  events,
  alwaysStreams: false,
  streamType: () => eventStream,
  error: openaiError,
  errorEvent,
  ping: ": ping\n\n",
};

/** Why a reply is incomplete. Other endings complete it. */
const incompleteReasons: Readonly<Partial<Record<Ending, string>>> = {
  length: "max_output_tokens",
};

function read(body: JsonObject): Ask | Problem {
  const { model, input } = body;
  if (typeof model !== "string") return problem("Missing required parameter: 'model'.", "model");
  const turns = typeof input === "string" ? [{ role: "user", content: input }] : input;
  if (!Array.isArray(turns) || turns.length === 0) {
    return problem("Missing required parameter: 'input'.", "input");
  }
  return {
    model,
    stream: body["stream"] === true,
    ...readTurns(turns, body["instructions"], body["tools"]),
    maxTokens: positiveInteger(body["max_output_tokens"]),
    stops: [],
    choices: 1,
    images: 0,
    includeUsage: true,
    body,
  };
}

function* events(answer: Answer): Generator<string> {
  let sequence = 0;
  const opening = response(answer, "in_progress", []);
  yield frame("response.created", { response: opening }, sequence++);
  yield frame("response.in_progress", { response: opening }, sequence++);
  const items = outputItems(answer);
  for (const [output_index, item] of items.entries()) {
    const added = { output_index, item: item.opening };
    yield frame("response.output_item.added", added, sequence++);
    for (const { type, fields, delta } of item.steps()) {
      const place = { item_id: item.opening["id"], output_index, ...fields };
      yield frame(type, delta === undefined ? place : { ...place, delta }, sequence++);
    }
    const done = { output_index, item: item.finished };
    yield frame("response.output_item.done", done, sequence++);
  }
  const final = finalResponse(answer);
  yield frame(`response.${String(final["status"])}`, { response: final }, sequence++);
}

/** Returns the final response object. A directive's `stop` makes it incomplete for that reason. */
function finalResponse(answer: Answer): JsonObject {
  const { directive } = answer;
  const reason = directive.stop ?? incompleteReasons[answer.ending];
  const status = reason === undefined || reason === "completed" ? "completed" : "incomplete";
  const output = outputItems(answer).map((item) => item.finished);
  const usage = directive.usage === "missing" ? undefined : responsesUsage(answer.usage);
  const incomplete_details = status === "incomplete" ? { reason } : null;
  return { ...response(answer, status, output), incomplete_details, usage };
}

function errorEvent(answer: Answer, sent: number): string {
  const { code, message, param } = openaiErrorDetail(500, answer.directive);
  if (answer.directive.error_event !== "failed") {
    return frame("error", { code, message, param }, sent);
  }
  const error = { code: code ?? "server_error", message };
  const failed = { ...response(answer, "failed", []), error };
  return frame("response.failed", { response: failed }, sent);
}

function frame(type: string, fields: JsonObject, sequence_number: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`;
}
