import assert from "node:assert/strict";
import { setImmediate as turnOver } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import { RequestBody } from "../../../core/body/request-body.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { GONE, type Outcome } from "../../../core/plugin/call.ts";
import { Attempt } from "../../../core/upstream/attempt.ts";
import { type ClientEnd, Exchange } from "../../../core/upstream/exchange.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { accepted, GATEWAY, swap } from "../config/files.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

interface Given {
  /** True for a client that has left. */
  readonly gone?: boolean;
  readonly protocol?: "messages" | "chat" | "images";
  /** More settings of the upstream. */
  readonly settings?: string;
  /** More fields of the request. */
  readonly fields?: object;
}

const EVENTS = [
  { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "OK" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];
const STREAM = EVENTS.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(
  "",
);

/** An exchange whose upstream replies to it what the test says. */
async function setUp(t: Test, given: Given) {
  const { gone = false, protocol = "messages", settings = "", fields } = given;
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  const all = `chat: "http://127.0.0.1:9001", images: "http://127.0.0.1:9001", messages:`;
  const gateway = swap(GATEWAY, "messages:", all);
  const config = await accepted(t, {
    "gateway.yaml": swap(gateway, "    keys:", `${settings}    keys:`),
  });
  const { log } = recordedLog();
  const upstreams = new ConnectedUpstreams(config, clock, log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  assert.ok(upstream);
  t.capture(upstream.dispatcher, "dispatch", () => true);
  const call = newCall(endpoints.find((it) => it.protocol === protocol));
  call.step("reading");
  call.step("requesting");
  call.stream = true;
  call.model = config.catalogue.get("plain");
  call.upstream = {
    ...{ protocol, path: `/${protocol}`, form: undefined, headers: [] },
    body: RequestBody.of({ model: "plain", max_tokens: 1, stream: true, ...fields }),
    ...{ bodyFor: undefined, prepare: undefined, outputLimit: undefined, wantsUsage: false },
  };
  const got: string[] = [];
  const events: unknown[] = [];
  const outcomes: Outcome[] = [];
  const sink = {
    head: (status: number, headers: readonly string[]) => got.push(`${status} ${headers[1]}`),
    event: ({ data }: { data: string }) => {
      if (data === "") return;
      const event = JSON.parse(data);
      events.push(event);
      got.push(event.type);
    },
    data: (bytes: Uint8Array) => got.push(`bytes ${JSON.stringify(Buffer.from(bytes).toString())}`),
    end(outcome: Outcome) {
      outcomes.push(outcome);
      got.push(outcome.kind);
    },
  };
  const client = {
    ...{ flush: () => {}, dropWhole: () => {}, keepAlive: () => {} },
    isStreamOpen: false as boolean,
    refusalOfSize: (_bytes: number): Outcome | undefined => undefined,
    refusalOfRoom: (_bytes: number): Outcome | undefined => undefined,
    bug: (error: unknown) => assert.fail(String(error)),
  } satisfies ClientEnd;
  const exchange = new Exchange(call, sink, client, upstreams, clock, log);
  exchange.start();
  call.gone = gone;
  return { exchange, client, got, events, outcomes, call, clock, upstream };
}

for (const [what, gone, blanks] of [
  ["after a blank, for a client that has left", true, "\n"],
  ["behind more blanks than a line is long", false, `${" ".repeat(64)}\n`],
] as const) {
  for (const apart of [true, false]) {
    const chunks = apart ? [blanks, STREAM] : [blanks + STREAM];
    t.test(`reads a stream without a content type ${what}, ${chunks.length} chunks`, async (t) => {
      const { exchange, got } = await setUp(t, { gone });
      exchange.replied(200, {});
      for (const chunk of chunks) exchange.received(Buffer.from(chunk));
      exchange.completed();
      t.strictSame(got, ["200 text/event-stream", ...EVENTS.map(({ type }) => type), "complete"]);
    });
  }
}

t.test(
  "a stream of an empty reply is passed on, though its terminal event is missing",
  async (t) => {
    const chat = [
      { type: "role", choices: [{ delta: { role: "assistant" } }] },
      { type: "end", choices: [{ delta: {}, finish_reason: "stop" }] },
    ];
    for (const [protocol, events] of [
      ["chat", chat],
      ["chat", chat.slice(1)],
      ["messages", [EVENTS[0], EVENTS[4]]],
    ] as const) {
      const { exchange, got } = await setUp(t, { protocol });
      exchange.replied(200, {});
      for (const each of events) {
        exchange.received(Buffer.from(`data: ${JSON.stringify(each)}\n\n`));
      }
      exchange.completed();
      const types = events.map((each) => each?.type);
      t.strictSame(got, ["200 text/event-stream", ...types, "complete"], protocol);
    }
  },
);

t.test("a whole reply is passed on once it is whole, also to a client that has left", async (t) => {
  const whole = JSON.stringify({ type: "message", content: [{ type: "text", text: "OK" }] });
  for (const gone of [false, true]) {
    const { call, exchange, got } = await setUp(t, { gone });
    exchange.replied(200, { "content-type": "application/json" });
    exchange.received(Buffer.from(whole.slice(0, 9)));
    t.strictSame(got, []);
    exchange.received(Buffer.from(whole.slice(9)));
    exchange.completed();
    t.equal(got.at(-1), "complete");
    t.strictSame(call.replyBody, JSON.parse(whole));
  }
});

t.test("a whole reply without room for it ends the call of a client that has left", async (t) => {
  const { call, client, exchange, got } = await setUp(t, { gone: true });
  client.refusalOfSize = (bytes) => (bytes > 9 ? GONE : undefined);
  exchange.sent();
  exchange.replied(200, { "content-type": "application/json" });
  exchange.received(Buffer.alloc(9));
  t.strictSame(got, []);
  exchange.received(Buffer.alloc(1));
  t.strictSame(got, ["gone"]);
  t.ok(call.taken, "the provider bills it, and so does the gateway");
});

t.test("a stream without content is left for another key", async (t) => {
  const table: readonly (readonly [what: string, seconds: number, given: Given])[] = [
    ["by the limit of all streams, while Chat may hide its reasoning", 900, { protocol: "chat" }],
    [
      "after 2 minutes, if Chat shows its reasoning",
      120,
      { protocol: "chat", settings: "    profile: { streams_reasoning: true }\n" },
    ],
    [
      "after 2 minutes, if the call asks for no reasoning",
      120,
      { protocol: "chat", fields: { reasoning_effort: "none" } },
    ],
    [
      "by the limit of all streams, if its model reasons in spite of that",
      900,
      {
        ...{ protocol: "chat", fields: { enable_thinking: false } },
        settings: "    profile: { thinking_off: lowest }\n",
      },
    ],
    [
      "after the time that its upstream states",
      30,
      { protocol: "chat", settings: "    first_byte_seconds: 30\n" },
    ],
    ["after 2 minutes, as Messages show that they reason", 120, { protocol: "messages" }],
    [
      "after the time of a whole reply, if it is an image, which is silent until it is drawn",
      300,
      { protocol: "images", settings: "    first_byte_seconds: 30\n    reply_seconds: 300\n" },
    ],
  ];
  for (const [what, seconds, given] of table) {
    const { exchange, call, clock } = await setUp(t, given);
    const attemptsAt = (s: number) => {
      clock.ms = s * 1_000;
      exchange.cutIfSilent(clock.ms);
      return call.attempts;
    };
    t.strictSame([attemptsAt(seconds - 1), attemptsAt(seconds)], [1, 2], what);
  }
});

const IMAGE = { b64_json: "AAAA" };
const DONE = { type: "image_generation.completed", ...IMAGE, usage: { output_tokens: 7 } };
const encoded = (data: object) => Buffer.from(`data: ${JSON.stringify(data)}\n\n`);

t.test("an image that comes as JSON though a stream was asked for becomes its event", async (t) => {
  const { type, usage } = DONE;
  for (const isStreamOpen of [false, true]) {
    const { call, client, exchange, events, got } = await setUp(t, { protocol: "images" });
    client.isStreamOpen = isStreamOpen;
    exchange.replied(200, { "content-type": "application/json" });
    exchange.received(Buffer.from(JSON.stringify({ created: 1, data: [IMAGE], usage })));
    exchange.completed();
    t.strictSame(got, ["200 text/event-stream", type, "complete"]);
    t.strictSame(events, [{ type, usage, created_at: 1, ...IMAGE }]);
    t.equal(call.attempts, 1, "it is not drawn again");
  }
});

t.test("a stream ends soon after its error, which nothing can follow", async (t) => {
  for (const protocol of ["images", "chat"] as const) {
    const { call, clock, exchange, got, outcomes } = await setUp(t, { protocol });
    exchange.sent();
    exchange.replied(200, {});
    const error = { code: "moderation_blocked", message: "no" };
    exchange.received(encoded({ type: "error", error }));
    t.notOk(call.taken, "a client that leaves now pays for nothing");
    for (const [ms, over] of [
      [4_000, []],
      [5_000, [{ kind: "broken", errorSent: true }]],
    ] as const) {
      clock.ms = ms;
      exchange.cutIfSilent(ms);
      t.match(outcomes, over);
      t.equal(outcomes.length, over.length);
    }
    t.strictSame(got, ["200 text/event-stream", "error", "broken"], protocol);
  }
});

t.test(
  "an event that arrives in parts counts as memory, and is let go after its call",
  async (t) => {
    for (const hasRoom of [true, false]) {
      const { client, exchange, got } = await setUp(t, { protocol: "images" });
      const counts: number[] = [];
      client.refusalOfRoom = (bytes) => {
        counts.push(bytes);
        return hasRoom || counts.length < 2 ? undefined : GONE;
      };
      exchange.replied(200, {});
      const event = encoded({ ...DONE, b64_json: "A".repeat(99_800) });
      exchange.received(event.subarray(0, 70_000));
      exchange.received(event.subarray(70_000, 90_000));
      t.strictSame(counts, [140_000, 140_000], "memory that is kept");
      if (hasRoom) exchange.received(event.subarray(90_000));
      t.equal(got.at(-1), hasRoom ? "complete" : "gone");
    }
    const { exchange, got } = await setUp(t, { protocol: "images" });
    exchange.replied(200, {});
    const chunk = new WeakRef(encoded(DONE));
    exchange.received(chunk.deref() ?? Buffer.alloc(0));
    t.equal(got.at(-1), "complete");
    await turnOver();
    collectGarbage();
    t.equal(chunk.deref(), undefined, "a slow client keeps the exchange, and not its image");
    t.ok(exchange);
  },
);

t.test("a page of a firewall is not read, and rests no key", async (t) => {
  const page = { "content-type": "text/html; charset=UTF-8" };
  for (const [headers, rests] of [
    [page, 0],
    [{ ...page, "content-length": "4321" }, 0],
    [{ ...page, "content-length": "0" }, 1],
  ] as const) {
    const { exchange, call, upstream } = await setUp(t, {});
    exchange.replied(403, headers);
    t.equal(call.attempts, 2);
    const resting = upstream.keys.flatMap((key) => key.restsAt(0));
    t.equal(resting.length, rests, JSON.stringify(headers));
  }
});

t.test("a plugin may have a refused call sent again, whatever else its text says", async (t) => {
  const words = "The encrypted content of this organization could not be verified.";
  for (const text of [words, JSON.stringify({ error: { message: words } })]) {
    const { exchange, call } = await setUp(t, {});
    assert.ok(call.upstream);
    const asked: string[] = [];
    const sendsAgain = (status: number, refusal: string) => asked.push(`${status} ${refusal}`) > 0;
    call.upstream = { ...call.upstream, sendsAgain };
    exchange.replied(400, { "content-type": "application/json" });
    exchange.received(Buffer.from(text));
    exchange.completed();
    t.strictSame(asked, [`400 ${text}`]);
    t.equal(call.attempts, 2);
  }
});

const JSON_TYPE = { "content-type": "application/json" };
const EVENTS_TYPE = { "content-type": "text/event-stream" };
const passed = (error: object) => [
  "400 application/json",
  `bytes ${JSON.stringify(JSON.stringify({ error }))}`,
];

t.test("a refusal that is no JSON object stays here, by any content type", async (t) => {
  const arrears = "Access denied, your account is in arrears";
  for (const headers of [JSON_TYPE, EVENTS_TYPE]) {
    for (const text of [arrears, JSON.stringify(arrears), `event:error\ndata:${arrears}\n\n`, ""]) {
      const { exchange, got } = await setUp(t, {});
      exchange.replied(400, headers);
      exchange.received(Buffer.from(text));
      exchange.completed();
      t.strictSame(got, ["broken"], text);
    }
  }
});

t.test("a refusal whose connection stays open counts by what came of it in time", async (t) => {
  const error = { type: "invalid_request_error", message: "tools.0: no such tool" };
  for (const [text, expected] of [
    [`data: ${JSON.stringify({ error })}\n\n`, [...passed(error), "refused"]],
    [JSON.stringify({ error }), [...passed(error), "refused"]],
    ['{"error":{"message":"your acc', ["broken"]],
  ] as const) {
    const { exchange, got, clock } = await setUp(t, {});
    const left = t.capture(Attempt.prototype, "abort");
    exchange.replied(400, EVENTS_TYPE);
    exchange.received(Buffer.from(text));
    clock.ms = 4_999;
    exchange.cutIfSilent(clock.ms);
    t.strictSame(got, []);
    clock.ms = 5_000;
    exchange.cutIfSilent(clock.ms);
    t.strictSame(got, expected);
    t.equal(left().length, 1, "the connection is not waited for, nor its end judged");
  }
});

t.test("content that a provider filters is no failure of its key, in any place", async (t) => {
  const filtered = {
    type: "error",
    error: { type: "api_error", message: "input new_sensitive (1026)" },
  };
  const whole = JSON.stringify({ base_resp: { status_code: 1026, status_msg: "input sensitive" } });
  const event = `event: error\ndata: ${JSON.stringify(filtered)}\n\n`;
  for (const [status, headers, text] of [
    [500, JSON_TYPE, JSON.stringify(filtered)],
    [200, JSON_TYPE, whole],
    [200, EVENTS_TYPE, event],
    [200, EVENTS_TYPE, STREAM.slice(0, STREAM.indexOf("event: content_block_stop")) + event],
  ] as const) {
    const { exchange, call, got, upstream } = await setUp(t, {});
    upstream.breakers.fail("plain-1", { cause: "http_500", reason: "HTTP 500" }, -1);
    exchange.replied(status, headers);
    exchange.received(Buffer.from(text));
    exchange.completed();
    t.equal(got.at(-1), "broken", text);
    t.strictSame(call.failedAttempts, [], text);
    const breaker = [...upstream.breakers].find(({ model }) => model === "plain-1")?.breaker;
    t.equal(breaker?.failuresInRow ?? 0, 0, `the upstream works: ${text}`);
  }
});

t.test("an error of the request in a success keeps its type and code, not a status", async (t) => {
  for (const [protocol, given, status, expected] of [
    ["messages", { type: "request_too_large", message: "m" }, 413, { type: "request_too_large" }],
    [
      "chat",
      { code: "data_inspection_failed", message: "m" },
      400,
      { code: "data_inspection_failed" },
    ],
    [
      "chat",
      { code: "1261", type: "invalid_request_error", message: "m" },
      400,
      { code: "context_length_exceeded" },
    ],
    ["chat", { type: "bad_request_error", http_code: "400", message: "m" }, 400, { code: null }],
    ["chat", { code: 400, message: "m" }, 400, { code: null }],
  ] as const) {
    const { exchange, got } = await setUp(t, { protocol });
    exchange.replied(200, JSON_TYPE);
    exchange.received(Buffer.from(JSON.stringify({ error: given })));
    exchange.completed();
    t.equal(got[0], `${status} application/json`);
    const body = JSON.parse(JSON.parse(got[1]?.slice("bytes ".length) ?? ""));
    t.match(body.error, { message: "m", ...expected }, JSON.stringify(given));
  }
});
