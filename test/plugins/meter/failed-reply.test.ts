import t from "tap";
import type { JsonObject, Outcome, Protocol } from "../../../core/contract/index.ts";
import { failedReply } from "../../../plugins/meter/failed-reply.ts";

/** The status and the message of the refusal for a body of status 200 that is not a reply. */
function refusalFor(body: JsonObject | undefined, protocol: Protocol = "chat"): string {
  const outcome = failedReply(body, protocol) as Extract<Outcome, { kind: "broken" }>;
  t.match(outcome, { kind: "broken", truncated: false, errorSent: false });
  return `${outcome.refusal.status} ${outcome.refusal.message}`;
}
const error = (fields: JsonObject) => ({ error: { message: "no", ...fields } });

t.test("an error in a reply of 200 gets the status that it states", async (t) => {
  const table: [what: string, body: JsonObject | undefined, expected: RegExp][] = [
    ["no JSON", undefined, /^502 .*invalid reply/],
    ["no error", {}, /^502 .*invalid reply/],
    ["no error, but choices", { choices: [{}] }, /^502 .*invalid reply/],
    ["a code", error({ code: 400 }), /^400 no$/],
    ["a code as text", error({ code: "413" }), /^413 no$/],
    ["a status", error({ status: 429 }), /^429 no$/],
    ["a code beside the error", { ...error({}), code: 404 }, /^404 no$/],
    ["a type", error({ type: "invalid_request_error" }), /^400 no$/],
    ["a code with a name", error({ code: "model_not_found" }), /^404 no$/],
    ["a code that is no status", error({ code: 7, type: "rate_limit_error" }), /^429 no$/],
    ["one below 400", error({ code: 399, type: "rate_limit_error" }), /^429 no$/],
    ["one above 599", error({ code: 600, type: "rate_limit_error" }), /^429 no$/],
    ["the last failure", error({ code: 599 }), /^502 .*an error 599/],
    ["the first failure", error({ code: 500 }), /^502 .*an error 500/],
    ["a fraction", error({ code: 400.5 }), /^502 .*an error 502/],
    ["nothing that is known", error({ type: "odd" }), /^502 .*an error 502/],
    ["the gateway's account", error({ code: 401 }), /^502 .*cannot be used/],
    ["its money", error({ type: "insufficient_quota" }), /^502 .*cannot be used/],
    ["its rights", error({ type: "permission_error" }), /^502 .*cannot be used/],
    ["too much load", error({ type: "overloaded_error" }), /^503 no$/],
    ["an outage", error({ code: 503 }), /^503 no$/],
    ["a text", { error: "no", code: 400 }, /^400 no$/],
    ["an empty message", error({ code: 400, message: "" }), /^400 The upstream refused/],
    ["no message", { error: { code: 400 } }, /^400 The upstream refused/],
    ["an error in a choice", { choices: [error({ code: 429 })] }, /^429 no$/],
  ];
  for (const [what, body, expected] of table) t.match(refusalFor(body), expected, what);
  t.match(refusalFor(error({ code: 529 }), "messages"), /^529 no$/);
});
