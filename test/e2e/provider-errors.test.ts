import t from "tap";
import { customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { asking, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/**
 * The errors of providers for a request that is larger than the window: the model, and its error
 * body.
 */
const OVERFLOWS: readonly (readonly [model: string, body: unknown, sizes: RegExp])[] = [
  [
    "gemini-3.5-flash",
    [
      {
        error: {
          code: 400,
          message:
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT",
        },
      },
    ],
    /1200000 tokens > 1048576 maximum/,
  ],
  [
    "grok-4.5",
    {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 500000 but the request contains 600000 tokens.",
    },
    /600000 tokens > 500000 maximum/,
  ],
  [
    "kimi-k2.6",
    {
      error: {
        message:
          "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        type: "invalid_request_error",
      },
    },
    /300000 tokens > 262144 maximum/,
  ],
  [
    "glm-5.2",
    { error: { code: "1261", message: "Prompt exceeds max length" } },
    /1000001 tokens > 1000000 maximum/,
  ],
  [
    "qwen3.7-max",
    { error: { message: "Range of input length should be [1, 997952]", code: "invalid" } },
    /1000001 tokens > 1000000 maximum/,
  ],
  [
    "svc/mistral-large-3-675b",
    { message: "Input is too long for requested model." },
    /256001 tokens > 256000 maximum/,
  ],
];

const TRANSLATED = { type: "invalid_request_error", message: /^prompt is too long: / };
const OVERFLOW = { code: "context_length_exceeded", message: /^Range of input length/ };

t.test("agents understand the errors of providers", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });

  const failing = (status: number, body: unknown, more: object = {}) => [
    { role: "user", content: asking({ status, body: JSON.stringify(body), ...more }) },
  ];

  t.test("an overflow has the words on which agents compact, in each protocol", async (t) => {
    const customer = await customerWith(gateway);
    for (const [model, body, sizes] of OVERFLOWS) {
      const messages = failing(400, body);
      const native = await post(gateway, paths.chat, customer, { model, messages });
      t.equal(native.status, 400);
      t.equal(native.json.error.code, "context_length_exceeded", `${model}: ${native.text}`);
      t.type(native.json.error.message, "string");
      const request = { model, max_tokens: 100, messages };
      const translated = await post(gateway, paths.messages, customer, request);
      t.equal(translated.status, 400);
      t.match(translated.json.error.message, /^prompt is too long: /);
      t.match(translated.json.error.message, sizes, model);
    }
  });

  t.test("also if it comes as an event of a streamed call, by any content type", async (t) => {
    const customer = await customerWith(gateway);
    const error = { message: "Range of input length should be [1, 997952]", code: "invalid" };
    const bare = `id:1\nevent:error\n:HTTP_STATUS/400\ndata:${JSON.stringify(error)}\n`;
    for (const body of [`data: ${JSON.stringify({ error })}\n\n`, bare]) {
      for (const content_type of ["text/event-stream;charset=UTF-8", "application/json"]) {
        const content = asking({ status: 400, body, content_type });
        const messages = [{ role: "user", content }];
        const request = { model: "qwen3.7-max", stream: true, max_tokens: 100, messages };
        const native = await post(gateway, paths.chat, customer, request);
        t.equal(native.status, 400);
        t.equal(native.headers.get("content-type"), "application/json");
        t.equal(native.json.error.code, "context_length_exceeded", native.text);
        const translated = await post(gateway, paths.messages, customer, request);
        t.match(translated.json.error.message, /^prompt is too long: /, translated.text);
      }
    }
  });

  t.test(
    "also if it comes with status 200, whole or in a stream, and no other is asked",
    async (t) => {
      const customer = await customerWith(gateway);
      const error = { message: "Range of input length should be [1, 997952]" };
      for (const [body, streamed] of [
        // An error event of Chat passes as it is.
        [{ error: { ...error, code: "invalid_parameter_error" } }, 200],
        [{ ...error, code: "InvalidParameter", request_id: "r" }, 400],
      ] as const) {
        for (const stream of [false, true]) {
          const event = `id:1\nevent:error\n:HTTP_STATUS/400\ndata:${JSON.stringify(body)}\n\n`;
          const content = asking({ reply: stream ? [event] : body });
          const messages = [{ role: "user", content }];
          const request = { model: "qwen3.7-max", stream, max_tokens: 100, messages };
          const native = await post(gateway, paths.chat, customer, request);
          const name = `${stream} ${native.status} ${native.text}`;
          t.equal(native.status, stream ? streamed : 400, name);
          if (native.status === 200) t.match(native.text, /data:.*Range of input length/, name);
          else t.match(native.json.error, OVERFLOW, name);
          const translated = await post(gateway, paths.messages, customer, request);
          t.equal(translated.status, 400, translated.text);
          t.match(translated.json.error, TRANSLATED, translated.text);
        }
      }
    },
  );

  t.test("an event that refuses the request is no failure, translated too", async (t) => {
    const customer = await customerWith(gateway);
    const tools = [{ name: "f", input_schema: { type: "object" } }];
    const code = "data_inspection_failed";
    const text = { choices: [{ index: 0, delta: { content: "a" } }] };
    const failed = { type: "response.failed", response: { error: { code, message: "No." } } };
    for (const [model, events, status] of [
      ["qwen3.7-max", [{ error: { code, message: "No." } }], 400],
      ["qwen3.7-max", [text, { error: { code, message: "No." } }], 200],
      ["gpt-5.6-sol", [failed], 400],
    ] as const) {
      const reply = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
      const messages = [{ role: "user", content: asking({ reply }) }];
      const request = { model, stream: true, max_tokens: 100, tools, messages };
      const translated = await post(gateway, paths.messages, customer, request);
      t.equal(translated.status, status, translated.text);
      t.match(translated.text, /"type":"invalid_request_error","message":"No\."/);
    }
  });

  t.test("Claude behind another provider says it in Claude's words", async (t) => {
    const customer = await customerWith(gateway);
    const messages = failing(400, { message: "Input is too long for requested model." });
    const request = { model: "svc/claude-opus-5-5", max_tokens: 100, messages };
    const reply = await post(gateway, paths.messages, customer, request);
    t.equal(reply.json.type, "error");
    t.match(reply.json.error.message, /^prompt is too long: /);
  });

  t.test("errors in a list or as a string are objects", async (t) => {
    const customer = await customerWith(gateway);
    const list = [{ error: { code: 400, message: "no such thing", status: "INVALID_ARGUMENT" } }];
    const errors = [
      ["gemini-3.5-flash", list],
      ["grok-4.5", { code: "invalid", error: "no such thing" }],
    ] as const;
    for (const [model, body] of errors) {
      const request = { model, messages: failing(400, body) };
      const native = await post(gateway, paths.chat, customer, request);
      t.equal(native.json.error.message, "no such thing", native.text);
      const translated = await post(gateway, paths.messages, customer, {
        ...request,
        max_tokens: 100,
      });
      t.equal(translated.json.error.message, "no such thing", translated.text);
    }
  });

  t.test("an overload is no failure, and says when to come back", async (t) => {
    const customer = await customerWith(gateway);
    for (const status of [503, 529]) {
      // One after the other on models of their own, because a breaker opens after failures.
      const more = { retry_after: 7 };
      const messages = failing(status, { error: { message: "busy" } }, more);
      const chat = await post(gateway, paths.chat, customer, { model: "gpt-4.1", messages });
      t.equal(chat.status, 503);
      t.equal(chat.json.error.code, "overloaded");
      t.equal(chat.headers.get("retry-after"), "7");
      const request = { model: "claude-haiku-4-5", max_tokens: 100, messages };
      const claude = await post(gateway, paths.messages, customer, request);
      t.equal(claude.status, 529);
      t.equal(claude.json.error.type, "overloaded_error");
      t.equal(claude.headers.get("retry-after"), "7");
    }
  });

  t.test("every error and every reply of Messages has its request id", async (t) => {
    const customer = await customerWith(gateway);
    const request = { max_tokens: 100, messages: failing(400, { error: { message: "no" } }) };
    for (const model of ["deepseek-v4-flash", 42]) {
      const reply = await post(gateway, paths.messages, customer, { ...request, model });
      t.ok(reply.status >= 400);
      const id = reply.headers.get("x-request-id");
      t.equal(reply.headers.get("request-id"), id);
      t.equal(reply.json.request_id, id, reply.text);
    }
    const good = await post(gateway, paths.messages, customer, {
      ...{ model: "claude-opus-5-5", max_tokens: 100 },
      messages: [{ role: "user", content: "hello" }],
    });
    t.equal(good.headers.get("request-id"), good.headers.get("x-request-id"));
  });
});
