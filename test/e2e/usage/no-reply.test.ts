import t from "tap";
import { billedCalls, customerWith } from "../../support/billed.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import type { Directive } from "../../support/provider/directive.ts";
import { bodies, eventsOf, paths, post } from "../../support/requests.ts";

const LIMITED = { type: "rate_limit_error", message: "Slow down." };
const OVERLOADED = { type: "overloaded_error", message: "Overloaded" };
const USAGE = { prompt_tokens: 300, completion_tokens: 10, total_tokens: 310 };
const DONE = "data: [DONE]\n\n";

type Client = "messages" | "chat" | "responses" | "images" | "speech";

/** A body with status 200 that is no reply, and the status that the client gets. */
const NO_REPLIES: readonly [what: string, client: Client, directive: Directive, number][] = [
  ["{}", "messages", { reply: {} }, 502],
  ["{}", "chat", { reply: {} }, 502],
  ["{}", "responses", { reply: {} }, 502],
  ["{}", "images", { reply: {} }, 502],
  ["a detail", "chat", { reply: { detail: "overloaded" } }, 503],
  ["no choices", "chat", { reply: { choices: [], usage: USAGE } }, 502],
  ["an empty text", "chat", { reply: "" }, 502],
  ["a page", "chat", { reply: "<html>", reply_type: "text/html" }, 502],
  ["an error beside usage: null", "chat", { reply: { error: LIMITED, usage: null } }, 429],
  ["an error with usage", "chat", { reply: { error: OVERLOADED, usage: USAGE } }, 503],
  ["an error with a code", "chat", { reply: { error: { message: "x", code: 429 } } }, 429],
  [
    "an error with a code in text",
    "chat",
    { reply: { error: { message: "x", code: "413" } } },
    413,
  ],
  ["an error of the provider", "chat", { reply: { error: { message: "x", code: 500 } } }, 502],
  ["an error of the account", "chat", { reply: { error: { message: "x", code: 402 } } }, 502],
  ["an error in a text", "responses", { reply: { error: "no" } }, 502],
  ["an error in a choice", "chat", { reply: { choices: [{ error: { code: 429 } }] } }, 429],
  ["an overload", "messages", { reply: { type: "error", error: OVERLOADED } }, 529],
  ["a limit", "messages", { reply: { type: "error", error: LIMITED } }, 429],
  ["an error", "responses", { reply: { error: { code: 429, message: "x" }, usage: null } }, 429],
  [
    "a prompt that the provider refuses",
    "chat",
    { reply: { error: { code: "invalid_prompt", message: "x" } } },
    400,
  ],
  ["a background reply", "responses", { reply: { status: "queued", output: [] } }, 502],
  ["a JSON error", "speech", { reply: { error: LIMITED } }, 429],
  ["no audio but JSON", "speech", { reply: { detail: "x" } }, 502],
  ["input that a filter refuses", "chat", { reply: { base_resp: { status_code: 1026 } } }, 400],
  ["status 204", "chat", { reply: "", reply_status: 204 }, 502],
  [
    "events as text, unasked",
    "chat",
    { reply: `data: {}\n\n${DONE}`, reply_type: "text/plain" },
    502,
  ],
];

/** The same from a provider of the other protocol. */
const CROSSED: readonly [what: string, client: Client, model: string, Directive, number][] = [
  ["an overload", "chat", "claude-opus-5-5", { reply: { type: "error", error: OVERLOADED } }, 503],
  ["a limit", "chat", "claude-opus-5-5", { reply: { type: "error", error: LIMITED } }, 429],
  [
    "an overload",
    "messages",
    "gpt-4.1-nano",
    { reply: { error: { message: "x", code: 503 } } },
    529,
  ],
  ["a limit", "messages", "gpt-4.1-nano", { reply: { error: LIMITED, usage: null } }, 429],
  ["{}", "messages", "gpt-4.1-nano", { reply: {} }, 502],
];

/** The finish reasons by which providers say that a filter, and that they themselves, have ended a reply. */
const FILTERS = ["content_filter", "content_filter: PROHIBITED_CONTENT", "SAFETY", "sensitive"];
const FAILURES = [
  ...["network_error", "insufficient_system_resource", "abort", "error"],
  ...["MALFORMED_FUNCTION_CALL", "function_call_filter: UNEXPECTED_TOOL_CALL"],
];

/** Replies that the client gets, and that cost nothing. */
const FREE: readonly [what: string, client: Client, directive: Directive, stream: boolean][] = [
  ["a refusal before any output", "messages", { text: "", stop: "refusal" }, false],
  ...FILTERS.flatMap((stop) =>
    [false, true].map((stream): (typeof FREE)[number] => [
      `a filter, ${stop}`,
      "chat",
      { text: "", stop },
      stream,
    ]),
  ),
  [
    "a failed response",
    "responses",
    { reply: { status: "failed", error: { code: "server_error" }, output: [], usage: USAGE } },
    false,
  ],
];

t.test("what is no reply", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway();
  });
  t.teardown(() => gateway.close());

  const ask = async (client: Client, directive: Directive, more: object = {}) => {
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths[client], customer, bodies[client](directive, more));
    const [record] = await billedCalls(gateway, customer, 1);
    return { answer, record };
  };

  for (const [what, client, directive, status] of NO_REPLIES) {
    t.test(`costs nothing and becomes ${status}: ${what}, ${client}`, async (t) => {
      const { answer, record } = await ask(client, directive);
      t.equal(answer.status, status);
      t.ok(answer.json.error.message);
      t.equal(answer.headers.get("x-svc-cost-vnd"), null);
      t.strictSame([record?.["cost_vnd"], record?.["status"]], ["0", status]);
    });
  }

  for (const [what, client, model, directive, status] of CROSSED) {
    t.test(`costs nothing and becomes ${status}: ${what}, ${client} of ${model}`, async (t) => {
      const { answer, record } = await ask(client, directive, { model });
      t.strictSame([answer.status, record?.["cost_vnd"]], [status, "0"]);
    });
  }

  for (const stop of FAILURES) {
    for (const stream of [false, true]) {
      t.test(`costs nothing if it fails before any output: ${stop}, ${stream}`, async (t) => {
        for (const model of ["gpt-4.1-nano", "req/gpt-4.1-nano"]) {
          const { answer, record } = await ask("chat", { text: "", stop }, { stream, model });
          t.strictSame([answer.status, record?.["cost_vnd"]], [502, "0"]);
        }
      });
    }
  }

  for (const [what, client, directive, stream] of FREE) {
    t.test(`is passed on and costs nothing: ${what}, streamed ${stream}`, async (t) => {
      const { answer, record } = await ask(client, directive, { stream });
      t.equal(answer.status, 200);
      if (!stream) {
        t.equal(answer.headers.get("x-svc-cost-vnd"), "0");
        t.equal(answer.headers.get("x-svc-input-tokens"), "0");
      }
      t.equal(record?.["cost_vnd"], "0");
    });
  }
});

t.test("a reply", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway();
  });
  t.teardown(() => gateway.close());

  const TOKENS = { text: "Good day.", input_tokens: 1000, output_tokens: 500 };

  for (const status of [201, 206, 299]) {
    for (const client of ["messages", "chat", "responses"] as const) {
      t.test(`is charged and becomes 200 if its status is ${status}: ${client}`, async (t) => {
        const customer = await customerWith(gateway);
        for (const stream of [false, true]) {
          const directive = { ...TOKENS, reply_status: status };
          const body = bodies[client](directive, { stream });
          t.equal((await post(gateway, paths[client], customer, body)).status, 200);
        }
        for (const record of await billedCalls(gateway, customer, 2)) {
          t.strictSame([record["input_tokens"], record["output_tokens"]], [1000, 500]);
        }
      });
    }
  }

  t.test(
    "is charged whatever the case of its content type, or without one of its own",
    async (t) => {
      const chunks = [
        { choices: [{ index: 0, delta: { content: "Good day." } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        { choices: [], usage: USAGE },
      ];
      const text = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}${DONE}`;
      for (const reply_type of ["Text/Event-Stream", "text/plain; charset=utf-8"]) {
        const customer = await customerWith(gateway);
        const body = bodies.chat({ reply: text, reply_type }, { stream: true });
        const answer = await post(gateway, paths.chat, customer, body);
        t.match(answer.headers.get("content-type"), /^text\/event-stream/);
        t.equal(eventsOf(answer.text)[0].choices[0].delta.content, "Good day.");
        const [record] = await billedCalls(gateway, customer, 1);
        t.strictSame([record?.["input_tokens"], record?.["output_tokens"]], [300, 10]);
      }
    },
  );

  t.test("is charged as a stream if the provider streams unasked", async (t) => {
    const chunk = {
      choices: [{ index: 0, delta: { content: "Good day." }, finish_reason: "stop" }],
    };
    const messages = [
      { type: "message_start", message: { usage: { input_tokens: 300, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Good day." } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } },
      { type: "message_stop" },
    ];
    const customer = await customerWith(gateway);
    const answers = [
      await post(
        gateway,
        paths.chat,
        customer,
        bodies.chat({ reply: [chunk, { choices: [], usage: USAGE }, DONE] }),
      ),
      await post(gateway, paths.messages, customer, bodies.messages({ reply: messages })),
    ];
    for (const { status, text } of answers) {
      t.equal(status, 200);
      t.match(text, /Good day/);
    }
    for (const record of await billedCalls(gateway, customer, 2)) {
      t.strictSame([record["input_tokens"], record["output_tokens"]], [300, 10]);
    }
  });
});

const CHUNK = { choices: [{ index: 0, delta: { content: "Good day." } }] };
const FAILED = {
  error: { message: "The engine is dead.", type: "InternalServerError", code: 500 },
};

t.test("a stream that fails", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway();
  });
  t.teardown(() => gateway.close());

  t.test("is free to a client that got its error, though the end follows", async (t) => {
    for (const events of [
      [CHUNK, FAILED, DONE],
      [CHUNK, FAILED],
    ]) {
      const customer = await customerWith(gateway);
      const body = bodies.chat({ reply: events }, { stream: true, model: "req/gpt-4.1-nano" });
      const answer = await post(gateway, paths.chat, customer, body);
      t.match(answer.text, /The engine is dead/);
      const [record] = await billedCalls(gateway, customer, 1);
      t.strictSame([record?.["cost_vnd"], record?.["outcome"]], ["0", "broken"]);
    }
  });

  t.test("before its first content is no reply, whatever its form", async (t) => {
    for (const [failed, status] of [
      [{ base_resp: { status_code: 1002, status_msg: "rate limit" } }, 429],
      [{ base_resp: { status_code: 2013, status_msg: "invalid params" } }, 400],
      [{ detail: "The engine is dead." }, 502],
    ] as const) {
      for (const end of [[DONE], []]) {
        const customer = await customerWith(gateway);
        const body = bodies.chat({ reply: [failed, ...end] }, { stream: true });
        t.equal((await post(gateway, paths.chat, customer, body)).status, status);
      }
    }
  });
});
