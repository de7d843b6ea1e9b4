import t from "tap";
import {
  chatErrorIn200,
  chatErrorToMessages,
  messagesErrorToChat,
} from "../../../plugins/translate/errors.ts";

/* upstream status -> status and type for a Messages client */
const CHAT_STATUSES = `
  400 400 invalid_request_error
  401 401 authentication_error
  402 402 billing_error
  403 403 permission_error
  404 404 not_found_error
  405 400 invalid_request_error
  408 408 timeout_error
  409 409 conflict_error
  413 413 request_too_large
  415 400 invalid_request_error
  418 418 invalid_request_error
  422 400 invalid_request_error
  429 429 rate_limit_error
  500 500 api_error
  501 500 api_error
  502 502 api_error
  503 529 overloaded_error
  504 504 timeout_error
  507 507 api_error
  520 502 api_error
  527 502 api_error
  529 529 overloaded_error
  302 502 api_error
`;

/* upstream type and status -> status, type and code for a Chat client */
const MESSAGES_TYPES = `
  invalid_request_error 400 400 invalid_request_error null
  authentication_error  401 401 authentication_error  invalid_api_key
  billing_error         402 402 insufficient_quota    insufficient_quota
  permission_error      403 403 permission_error      null
  not_found_error       404 404 invalid_request_error model_not_found
  conflict_error        409 409 conflict_error        null
  request_too_large     413 413 invalid_request_error request_too_large
  rate_limit_error      429 429 rate_limit_error      rate_limit_exceeded
  timeout_error         408 504 server_error          timeout
  api_error             500 500 server_error          null
  api_error             503 503 server_error          null
  overloaded_error      529 503 server_error          overloaded
  shiny_error           418 418 invalid_request_error null
  shiny_error           599 599 server_error          null
  shiny_error           200 502 server_error          null
`;

t.test("an error in a reply with status 200 has the status that it stands for", async (t) => {
  for (const [error, status, type] of [
    [{ code: "data_inspection_failed" }, 400, "invalid_request_error"],
    [{ code: "cyber_policy" }, 400, "invalid_request_error"],
    [{ code: "failed_to_download_image" }, 400, "invalid_request_error"],
    [{ code: "1214" }, 400, "invalid_request_error"],
    [{ type: "invalid_request_error" }, 400, "invalid_request_error"],
    [{ type: "bad_request_error", http_code: "400" }, 400, "invalid_request_error"],
    [{ code: "rate_limit_exceeded" }, 429, "rate_limit_error"],
    [{ code: "slow_down" }, 529, "overloaded_error"],
    [{ code: 404 }, 404, "not_found_error"],
    [{ status: 503 }, 529, "overloaded_error"],
    [{ code: "server_error" }, 502, "api_error"],
    [{ code: "constructor", type: { toString: 1 } }, 502, "api_error"],
  ] as const) {
    const reply = chatErrorIn200({ error: { ...error, message: "m" } });
    const body = { type: "error", error: { type, message: "m" } };
    t.strictSame(reply, { status, body }, JSON.stringify(error));
  }
  const filtered = { type: "data_inspection_failed", message: "m" };
  t.match(messagesErrorToChat(200, { type: "error", error: filtered }), {
    status: 400,
    body: { error: { type: "invalid_request_error" } },
  });
});

t.test("errors of a Chat upstream", async (t) => {
  for (const [from, status, type] of rows(CHAT_STATUSES)) {
    t.test(`${from} is ${status} ${type}`, async (t) => {
      const reply = chatErrorToMessages(Number(from), { error: { message: "m", type: "x" } });
      const body = { type: "error", error: { type, message: "m" } };
      t.strictSame(reply, { status: Number(status), body });
    });
  }

  const message = (body: unknown, status = 400) =>
    chatErrorToMessages(status, body).body.error.message;
  t.test(
    "the message is read from wherever the upstream put it, but never from an HTML page",
    async (t) => {
      t.equal(message('{"error":{"message":"a"}}'), "a");
      t.equal(message({ error: "b" }), "b");
      t.equal(message({ message: "c" }), "c");
      t.equal(message({ detail: [{ msg: "d" }, { msg: "e" }] }), "d; e");
      t.equal(message("<html>down</html>", 502), "Upstream returned HTTP 502");
      t.equal(message({ error: { message: 5 } }, 500), "Upstream returned HTTP 500");
      t.equal(message(undefined, 404), "Upstream returned HTTP 404");
    },
  );

  t.test("the size of the request is estimated only for an overflow without sizes", async (t) => {
    let estimates = 0;
    const estimate = () => {
      estimates += 1;
      return { tokens: 9000, window: 8192 };
    };
    const said = (status: number, message: string) =>
      chatErrorToMessages(status, { error: { message } }, estimate).body.error.message;
    said(500, "down");
    said(429, "too many tokens for a long context window");
    said(400, "prompt is too long: 9000 tokens > 8192 maximum");
    t.equal(estimates, 0);
    t.match(said(400, "exceeds the context window"), /: 9000 tokens > 8192 maximum; exceeds/);
    t.equal(estimates, 1);
  });

  t.test("a prompt that is too long gets the wording that clients look for", async (t) => {
    const prefix = /^prompt is too long: /;
    t.match(message({ error: { code: "model_max_prompt_tokens_exceeded", message: "x" } }), prefix);
    t.match(message({ message: "exceeds the Context Window of 8192" }, 500), prefix);
    t.equal(
      message({ message: "prompt is too long: maximum context length" }),
      "prompt is too long: maximum context length",
    );
    const limit = chatErrorToMessages(429, {
      message: "too many tokens for a long context window",
    });
    t.equal(limit.status, 429);
  });
});

t.test("errors of a Messages upstream", async (t) => {
  for (const [type, from, status, answered, code] of rows(MESSAGES_TYPES)) {
    t.test(`${type} with ${from} is ${status} ${answered}`, async (t) => {
      const reply = messagesErrorToChat(Number(from), { error: { type, message: "m" } });
      t.equal(reply.status, Number(status));
      const expected = {
        message: "m",
        type: answered,
        param: null,
        code: code === "null" ? null : code,
      };
      t.strictSame(reply.body, { error: expected });
    });
  }

  t.test("a context that is too long gets the code that clients look for", async (t) => {
    const error = { type: "invalid_request_error", message: "input exceed context limit" };
    t.equal(messagesErrorToChat(400, { error }).body.error.code, "context_length_exceeded");
  });

  t.test("an error that is no JSON keeps its status", async (t) => {
    const reply = messagesErrorToChat(503, "<html>");
    const error = {
      message: "Upstream returned HTTP 503",
      type: "server_error",
      param: null,
      code: null,
    };
    t.strictSame(reply, { status: 503, body: { error } });
  });
});

function rows(table: string): string[][] {
  return table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
}
