import t from "tap";
import type { JsonObject, Outcome, Protocol } from "../../../core/plugin/index.ts";
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

t.test(
  "an error in a reply of 200 keeps the kind that its status or its name stands for",
  async (t) => {
    const kindOf = (fields: JsonObject, protocol: Protocol = "chat") => {
      const { refusal } = failedReply(error(fields), protocol) as Extract<
        Outcome,
        { kind: "broken" }
      >;
      return `${refusal.status} ${refusal.type}`;
    };
    const invalid = "invalid_request_error";
    const ours = "502 api_error";
    const busy = "503 service_unavailable";
    const names: [name: string, expected: string][] = [
      [invalid, `400 ${invalid}`],
      ["context_length_exceeded", `400 ${invalid}`],
      ["authentication_error", ours],
      ["billing_error", ours],
      ["insufficient_quota", ours],
      ["permission_error", ours],
      ["not_found_error", "404 not_found_error"],
      ["model_not_found", "404 not_found_error"],
      ["request_too_large", "413 request_too_large"],
      ["rate_limit_error", "429 rate_limit_error"],
      ["rate_limit_exceeded", "429 rate_limit_error"],
      ["overloaded_error", busy],
      ["overloaded", busy],
      ["odd", ours],
    ];
    for (const [name, expected] of names) {
      t.equal(kindOf({ type: name }), expected, name);
      t.equal(kindOf({ code: name }), expected, `a code of ${name}`);
    }
    const statuses: [status: number, expected: string][] = [
      [400, `400 ${invalid}`],
      [401, ours],
      [402, ours],
      [403, ours],
      [404, "404 not_found_error"],
      [413, "413 request_too_large"],
      [422, `422 ${invalid}`],
      [429, "429 rate_limit_error"],
      [499, `499 ${invalid}`],
      [500, ours],
      [503, busy],
      [504, ours],
      [529, busy],
    ];
    for (const [status, expected] of statuses) {
      t.equal(kindOf({ code: status }), expected, String(status));
      t.equal(kindOf({ status, type: "odd" }), expected, `a status of ${status}`);
    }
    for (const code of [503, 529]) {
      t.equal(kindOf({ code }, "messages"), "529 overloaded_error", "as Messages name it");
    }
  },
);

t.test("a status beside the error counts if the error states none", async (t) => {
  t.match(refusalFor({ ...error({}), status: 429 }), /^429 no$/);
  t.match(refusalFor({ ...error({ code: 404 }), status: 429 }), /^404 no$/);
  t.match(refusalFor({ ...error({ status: 413 }), code: 429, status: 404 }), /^413 no$/);
});
