import assert from "node:assert/strict";
import t from "tap";
import type { Protocol } from "../../../core/catalogue/endpoint.ts";
import { SseReader } from "../../../core/sse/reader.ts";
import { Usage } from "../../../core/wire/usage/usage.ts";
import { Delivered } from "../../../core/wire/wire.ts";
import { wires } from "../../../core/wire/wires.ts";

function fromReply(protocol: Protocol, reply: Record<string, unknown>): Usage {
  const usage = new Usage();
  wires[protocol].readReply(reply, usage);
  return usage;
}

/** Usage and delivered text of a stream: an event's name is its type, if it has one. */
function fromStream(
  protocol: Protocol,
  ...events: readonly { readonly [name: string]: unknown; readonly type?: string }[]
): { usage: Usage; delivered: Delivered } {
  const usage = new Usage();
  const delivered = new Delivered();
  const text = events.map(
    (event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
  );
  new SseReader().push(Buffer.from(text.join("")), (event) => {
    wires[protocol].readEvent(event, usage);
    wires[protocol].countDelta(event, delivered);
  });
  return { usage, delivered };
}

function assertUsage(usage: Usage, expected: Partial<Usage>): void {
  const got = Object.fromEntries(
    Object.keys(expected).map((key) => [key, usage[key as keyof Usage]]),
  );
  assert.deepEqual(got, expected);
}

/** Reports of usage: the protocol with a report, and what is read of it. */
const REPORTS = `
adds cache reads and writes to the input, which excludes them
  messages {"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":7,"output_tokens_details":{"thinking_tokens":3}}
  {"inputTokens":1110,"cacheReadTokens":100,"cacheWriteTokens":1000,"outputTokens":7,"reasoningTokens":3,"inputReported":true,"outputReported":true}
finds cached tokens inside the input
  chat {"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":15}}
  {"inputTokens":100,"cacheReadTokens":60,"outputTokens":20,"reasoningTokens":15}
adds reasoning tokens that a provider counts only in the total
  chat {"prompt_tokens":100,"completion_tokens":20,"total_tokens":320,"completion_tokens_details":{"reasoning_tokens":200}}
  {"inputTokens":100,"outputTokens":220,"reasoningTokens":200}
adds image tokens reported beside the input
  chat {"prompt_tokens":10,"completion_tokens":5,"image_tokens":100,"total_tokens":115}
  {"inputTokens":110}
adds no image tokens that the input includes
  chat {"prompt_tokens":110,"completion_tokens":5,"image_tokens":100,"total_tokens":115}
  {"inputTokens":110}
finds cached tokens and reasoning
  responses {"input_tokens":50,"input_tokens_details":{"cached_tokens":20},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}
  {"inputTokens":50,"cacheReadTokens":20,"outputTokens":9,"reasoningTokens":4}`;

for (const row of REPORTS.trim().split(/\n(?=\S)/)) {
  const [title, report = "", expected = ""] = row.split("\n  ");
  const at = report.indexOf(" ");
  const protocol = report.slice(0, at) as Protocol;
  t.test(`usage of the protocol ${protocol} ${title}`, async () => {
    const usage = JSON.parse(report.slice(at));
    assertUsage(fromReply(protocol, { usage }), JSON.parse(expected));
  });
}

t.test("usage of the Messages protocol", async (t) => {
  const first = (usage: object) => ({ type: "message_start", message: { usage } });
  const last = (usage: object) => ({ type: "message_delta", delta: {}, usage });
  const delta = (delta: object) => ({ type: "content_block_delta", index: 0, delta });

  t.test("takes the input from the first event and the output from the last", async (t) => {
    const { usage, delivered } = fromStream(
      "messages",
      first({ input_tokens: 9, output_tokens: 1 }),
      delta({ type: "text_delta", text: "four" }),
      last({ output_tokens: 5 }),
      last({ output_tokens: 8 }),
    );
    assertUsage(usage, { inputTokens: 9, outputTokens: 8, outputReported: true });
    t.equal(delivered.asciiBytes, 4);
  });

  t.test("lets a later report of the input replace an earlier one, part by part", async () => {
    const { usage } = fromStream(
      "messages",
      first({ input_tokens: 0, cache_read_input_tokens: 5 }),
      last({ input_tokens: 20, output_tokens: 2 }),
    );
    assertUsage(usage, { inputTokens: 25, cacheReadTokens: 5, outputTokens: 2 });
  });

  t.test("is incomplete until the last event: the first has a provisional count", async () => {
    const { usage } = fromStream("messages", first({ input_tokens: 9, output_tokens: 4 }));
    assertUsage(usage, { inputReported: true, outputReported: false });
  });

  t.test("counts text, thinking and arguments of tools as delivered", async (t) => {
    const { delivered } = fromStream(
      "messages",
      delta({ type: "text_delta", text: "ab" }),
      delta({ type: "thinking_delta", thinking: "cde" }),
      delta({ type: "input_json_delta", partial_json: '{"f":1}' }),
      delta({ type: "signature_delta", signature: "not a word of it" }),
    );
    t.equal(delivered.asciiBytes, 2 + 3 + 7);
  });
});

t.test("usage of the Chat Completions protocol", async (t) => {
  t.test("never charges as many tokens of thinking and of the cache twice", async (t) => {
    const usage = {
      prompt_tokens: 500,
      completion_tokens: 20,
      total_tokens: 820,
      prompt_tokens_details: { cached_tokens: 300 },
      completion_tokens_details: { reasoning_tokens: 300 },
    };
    const xai = { inputTokens: 500, cacheReadTokens: 300, outputTokens: 320, reasoningTokens: 300 };
    assertUsage(fromReply("chat", { usage }), xai);
    const google = { promptTokenCount: 500, candidatesTokenCount: 20, totalTokenCount: 820 };
    for (const beside of ["thoughtsTokenCount", "toolUsePromptTokenCount"]) {
      const report = { ...google, cachedContentTokenCount: 300, [beside]: 300 };
      const { inputTokens, outputTokens } = fromReply("chat", { usageMetadata: report });
      t.equal(inputTokens + outputTokens, 820, beside);
    }
    const both = fromReply("chat", { usage: { ...usage, total_tokens: 1_120 } });
    assertUsage(both, { ...xai, inputTokens: 800 });
  });

  t.test("reads an event that only reports usage, and returns true for it", async (t) => {
    const usage = new Usage();
    const reader = new SseReader();
    const only: boolean[] = [];
    const chunks = [
      { choices: [{ delta: { content: "x" } }], usage: null },
      { choices: [{ delta: {}, finish_reason: "stop" }] },
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
    ];
    const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    reader.push(Buffer.from(text), (event) => only.push(wires.chat.readEvent(event, usage)));
    t.strictSame(only, [false, false, true]);
    assertUsage(usage, { inputTokens: 3, outputTokens: 4, outputReported: true });
  });

  t.test("takes the last of several cumulative reports", async () => {
    const report = (completion_tokens: number) => ({
      choices: [{ delta: {} }],
      usage: { prompt_tokens: 3, completion_tokens },
    });
    const { usage } = fromStream("chat", report(1), report(2), report(9));
    assertUsage(usage, { inputTokens: 3, outputTokens: 9 });
  });

  t.test("does not mistake content for a report", async () => {
    const content = '"usage":{"prompt_tokens":1,"completion_tokens":1}';
    const { usage } = fromStream("chat", { choices: [{ delta: { content } }] });
    assertUsage(usage, { inputReported: false, outputReported: false, inputTokens: 0 });
  });
});

t.test("usage of the Responses protocol", async (t) => {
  const response = {
    usage: {
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 20 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
    },
  };
  const expected = { inputTokens: 50, cacheReadTokens: 20, outputTokens: 9, reasoningTokens: 4 };

  for (const type of ["response.completed", "response.incomplete", "response.failed"]) {
    t.test(`is in the event ${type}`, async () => {
      const { usage } = fromStream(
        "responses",
        { type: "response.created", response: { usage: null } },
        { type: "response.output_text.delta", delta: "abc" },
        { type, response },
      );
      assertUsage(usage, expected);
    });
  }
});

t.test("uses of a provider's own tools in the Responses protocol", async (t) => {
  const usage = { input_tokens: 10, output_tokens: 2 };
  const search = (action?: object) => ({ type: "web_search_call", ...(action && { action }) });
  const bySearch = { usage, output: [search({ type: "search", query: "a" }), search()] };
  const opened = [search({ type: "open_page", url: "a" }), search({ type: "find_in_page" })];
  const details = { web_search_calls: 1, x_search_calls: 4, code_interpreter_calls: 0 };
  const counted = { ...usage, num_sources_used: 0, server_side_tool_usage_details: details };
  const interpreted = { type: "code_interpreter_call" };
  const table = [
    ["each search", bySearch, { web_search: 2 }],
    ["no page that is opened", { usage, output: [search(), ...opened] }, { web_search: 1 }],
    ["no page alone", { usage, output: opened }, undefined],
    ["the provider's count", { usage: counted, output: [search(), search()] }, { web_search: 5 }],
    [
      "no item that the provider counts as 0",
      { usage: counted, output: [interpreted] },
      { web_search: 5 },
    ],
    [
      "the items of what the provider does not count",
      { usage: counted, output: [search(), { type: "image_generation_call" }] },
      { web_search: 5, image_generation: 1 },
    ],
    [
      "items, not a count that may be of other tools",
      { usage: { ...usage, num_server_side_tools_used: 3 }, output: [search(), interpreted] },
      { web_search: 1, code_execution: 1 },
    ],
  ] as const;
  for (const [what, reply, uses] of table) {
    t.strictSame(fromReply("responses", reply).uses, uses, what);
    const completed = { type: "response.completed", response: reply };
    const { usage: streamed } = fromStream("responses", completed);
    t.strictSame(streamed.uses, uses, `${what}, streamed`);
  }
});

t.test("hostile or broken usage", async (t) => {
  const wrong = [null, -1, 1.5, "7", 2 ** 60, Number.NaN, {}, [], true];
  for (const [protocol, input, output] of [
    ["messages", "input_tokens", "output_tokens"],
    ["chat", "prompt_tokens", "completion_tokens"],
    ["responses", "input_tokens", "output_tokens"],
  ] as const) {
    t.test(`is ignored: ${protocol}`, async () => {
      for (const value of wrong) {
        const usage = fromReply(protocol, { usage: { [input]: value, [output]: value } });
        assertUsage(usage, {
          inputTokens: 0,
          outputTokens: 0,
          inputReported: false,
          outputReported: false,
        });
      }
    });

    t.test(`is accepted if it is zero: ${protocol}`, async () => {
      const usage = fromReply(protocol, { usage: { [input]: 0, [output]: 0 } });
      assertUsage(usage, { inputReported: true, outputReported: true });
    });
  }
});

t.test("usage of embeddings is a number above 0, whichever states it", async () => {
  for (const [usage, inputTokens] of [
    [{ prompt_tokens: 12, total_tokens: 12 }, 12],
    [{ prompt_tokens: 0, total_tokens: 12 }, 12],
    [{ total_tokens: 12 }, 12],
    [{ prompt_tokens: 0, total_tokens: 0 }, 0],
    [{ prompt_tokens: 0 }, 0],
    [{}, 0],
    [undefined, 0],
  ] as const) {
    const inputReported = inputTokens > 0;
    assertUsage(fromReply("embeddings", { usage }), { inputTokens, inputReported });
  }
});

t.test("images that are there count, of a reply and of a stream", async () => {
  for (const [data, images] of [
    [[{ b64_json: "A" }, { b64_json: null, url: "https://x" }], 2],
    [[{ b64_json: "" }, { url: "" }, {}, null], 0],
    [[], 0],
  ] as const) {
    assertUsage(fromReply("images", { data }), { images });
  }
  const type = "image_generation.completed";
  const early = { type: "image_generation.partial_succeeded", url: "https://x" };
  for (const [events, images] of [
    [[{ type, b64_json: "A" }], 1],
    [[{ type, b64_json: "" }], 0],
    [[{ type, b64_json: "", url: "" }], 0],
    [[{ type, b64_json: null, url: "https://x" }], 1],
    // Seedream's images come before the end, which has their number.
    [[early, { type, usage: { generated_images: 1, output_tokens: 9 } }], 1],
    [[early, { type, usage: { generated_images: -1 } }], 0],
  ] as const) {
    assertUsage(fromStream("images", ...events).usage, { images });
  }
});
