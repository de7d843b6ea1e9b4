import t from "tap";
import { COMPLETE } from "../../../core/plugin/call.ts";
import {
  type Model,
  type Outcome,
  objectOf,
  parseJson,
  ServerEvent,
  type Sink,
  Usage,
} from "../../../core/plugin/index.ts";
import meter from "../../../plugins/meter/index.ts";
import { newCall } from "../../support/call.ts";
import {
  deskOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  priced,
} from "../../support/plugin-desk.ts";

/** Factors that a reader can follow: one token for 4 bytes in a hold, for 2 in an estimate. */
const FACTORS = {
  ascii_bytes_per_token: 4,
  other_bytes_per_token: 1,
  image_tokens: 100,
  document_bytes_per_token: 10,
  density_share: 0,
  overhead_share: 0,
};
const SETTINGS = {
  hold: FACTORS,
  estimate: { ...FACTORS, ascii_bytes_per_token: 2, image_tokens: 50 },
};
const CHAT = "/v1/chat/completions";

/** A call with the plugin's sink, and what reached the client. */
function metered(changes: PreparedChanges = {}, path?: string, settings = SETTINGS) {
  const desk = deskOf();
  const plugin = meter(desk.services, settings);
  const call = preparedCall(changes, path);
  const verdict = plugin.request?.(call);
  const seen: string[] = [];
  const ends: Outcome[] = [];
  const client: Sink = {
    head: (status) => seen.push(`head ${status}`),
    event: (event) => seen.push(event.data),
    data: (bytes) => seen.push(Buffer.from(bytes).toString()),
    end: (outcome) => ends.push(outcome),
  };
  const sink = plugin.stream?.(call, client) ?? client;
  const send = (data: object | string) => {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    sink.event(new ServerEvent(Buffer.from(`data: ${text}\n\n`)));
  };
  const reply = (...parts: string[]) => {
    sink.head(200, []);
    // As core does with a whole reply.
    call.replyBody = objectOf(parseJson(parts.join("")));
    for (const part of parts) sink.data(Buffer.from(part));
    sink.end(COMPLETE);
  };
  return { desk, plugin, call, verdict, seen, ends, sink, send, reply };
}

const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const usageEvent = {
  choices: [],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};
const wholeChat = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(20) } }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
});

t.test("the bounds of a call", async (t) => {
  const body = { model: "sim-large", system: "a".repeat(40) };

  /** The bound and the likely tokens of a text that are 40 and 20, for a model with this window. */
  const ofWindow = (contextWindow: number | undefined) => {
    const settings = { ...SETTINGS, hold: { ...FACTORS, ascii_bytes_per_token: 1 } };
    const { call } = metered({ body, model: modelOf({ contextWindow }) }, undefined, settings);
    return [call.inputTokensBound, call.inputTokensLikely];
  };

  t.test("are those of its factors, and the bound is at most the model's window", async (t) => {
    const { call, verdict } = metered({ body });
    t.equal(verdict, undefined);
    t.strictSame([call.inputTokensBound, call.inputTokensLikely], [10, 20]);
    t.strictSame(ofWindow(undefined), [40, 20]);
    t.strictSame(ofWindow(30), [30, 20]);
    t.strictSame(ofWindow(20), [20, 20]);
  });

  t.test(
    "cover a text that is likely longer than the window that the operator states",
    async (t) => {
      t.strictSame(ofWindow(19), [40, 20]);
      t.strictSame(ofWindow(1), [40, 20]);
    },
  );

  t.test("exist for chat models of either standard only", async (t) => {
    t.equal(metered({ body, model: modelOf({ standard: "chat" }) }).call.inputTokensLikely, 20);
    for (const standard of ["images", "speech"] as const) {
      const { call } = metered({ body, model: modelOf({ standard }) });
      t.strictSame([call.inputTokensBound, call.inputTokensLikely], [0, undefined]);
      t.ok(call.usage instanceof Usage, "what the provider reports is recorded");
    }
  });

  t.test("count an image of unknown size as the most that a model counts", async (t) => {
    const url = { type: "image_url", image_url: { url: "https://a/b" } };
    const { call } = metered({ body: { messages: [url] } }, CHAT);
    t.strictSame([call.inputTokensBound, call.inputTokensLikely], [5_005, 55]);
  });

  t.test("count an image of known size by the tiles of its model", async (t) => {
    const png = Buffer.alloc(40);
    png.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
    png.writeUInt32BE(280, 16);
    png.writeUInt32BE(280, 20);
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const { call } = metered(
      { body: { messages: [{ type: "image_url", image_url: { url } }] } },
      CHAT,
    );
    t.strictSame(
      [call.inputTokensBound, call.inputTokensLikely],
      [147, 153],
      "130 for 10 x 10 tiles",
    );
  });

  t.test("are refused if they are more than the model sells in a call", async (t) => {
    const body = { messages: [{ role: "user", content: "x".repeat(40) }] };
    const verdictFor = (inputTokensMax: number | undefined) => {
      const { call, plugin } = metered({ body }, CHAT);
      call.model = modelOf({ inputTokensMax });
      return plugin.request?.(call);
    };
    const likely = metered({ body }, CHAT).call.inputTokensLikely ?? 0;
    t.ok(likely > 10);
    for (const enough of [undefined, likely]) t.equal(verdictFor(enough), undefined);
    t.match(verdictFor(likely - 1), {
      status: 400,
      code: "context_length_exceeded",
      message: `prompt is too long: ${likely} tokens > ${likely - 1} maximum of sim-large; shorten it`,
    });
  });

  t.test("need a model and a body", async (t) => {
    const call = metered({ model: undefined }).call;
    t.strictSame([call.inputTokensBound, call.inputTokensLikely], [0, undefined]);
  });
});

t.test("a stream", async (t) => {
  t.test("counts what it delivers, and takes the provider's usage", async (t) => {
    const { call, sink, send, ends, plugin } = metered({ stream: true }, CHAT);
    sink.head(200, []);
    send(delta("abcde"));
    t.equal(call.deliveredTokens, 3);
    send(delta("abc"));
    t.equal(call.deliveredTokens, 4);
    send(usageEvent);
    sink.end(COMPLETE);
    t.strictSame(ends, [COMPLETE]);
    Object.assign(call, { status: 200, outcome: "complete" });
    plugin.close?.(call);
    t.match(call.usage, { inputTokens: 7, outputTokens: 3 });
    t.equal(call.estimated, false);
  });

  t.test("hides the usage that the client has not asked for, and only that", async (t) => {
    const hidden = metered({ stream: true }, CHAT);
    t.equal(hidden.call.upstream.wantsUsage, true);
    const asking = {
      model: "m",
      messages: [],
      stream: true,
      stream_options: { include_usage: true },
    };
    const shown = metered({ stream: true, body: asking }, CHAT);
    t.equal(shown.call.upstream.wantsUsage, false);
    for (const { sink, send } of [hidden, shown]) {
      sink.head(200, []);
      send(delta("abc"));
      send(usageEvent);
      send("[DONE]");
    }
    t.equal(hidden.seen.length, 3, "head, text, end");
    t.notMatch(hidden.seen.join(), /prompt_tokens/);
    t.equal(shown.seen.length, 4);
    t.match(hidden.call.usage, { inputTokens: 7, outputTokens: 3 });
  });

  t.test("that breaks off before any text has delivered nothing", async (t) => {
    const { call, sink } = metered({ stream: true }, CHAT);
    sink.head(200, []);
    sink.end({ kind: "gone" });
    t.equal(call.delivered, false);
    const whole = metered({ stream: true }, CHAT);
    whole.sink.head(200, []);
    whole.send(delta(""));
    whole.sink.end(COMPLETE);
    t.equal(whole.call.delivered, true, "a complete stream without text is charged its usage");
  });

  t.test("that only refuses has delivered nothing", async (t) => {
    const { call, sink, send, ends } = metered({ stream: true }, CHAT);
    sink.head(200, []);
    send({ choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] });
    sink.end(COMPLETE);
    t.strictSame([call.delivered, ends], [false, [COMPLETE]]);
  });

  t.test("that arrives as one JSON reply is read as one", async (t) => {
    const { call, reply, seen, ends } = metered({ stream: true }, CHAT);
    reply(wholeChat.slice(0, 30), wholeChat.slice(30));
    t.match(call.usage, { inputTokens: 7, outputTokens: 3 });
    t.equal(call.delivered, true);
    t.equal(seen.slice(1).join(""), wholeChat);
    t.strictSame(ends, [COMPLETE], "ends once");
  });
});

t.test("an unstreamed reply", async (t) => {
  t.test("is read whole, in one part or several", async (t) => {
    for (const parts of [[wholeChat], [wholeChat.slice(0, 9), wholeChat.slice(9)]]) {
      const { call, reply, seen, ends } = metered({}, CHAT);
      reply(...parts);
      t.match(call.usage, { inputTokens: 7, outputTokens: 3 });
      t.match(call.replyBody, { choices: [{}] });
      t.equal(call.delivered, true);
      t.equal(call.deliveredTokens, 0, "not counted if the provider has");
      t.strictSame(ends, [COMPLETE]);
      t.strictSame(seen, ["head 200", ...parts]);
    }
  });

  t.test("without usage is counted", async (t) => {
    const { call, reply } = metered({}, CHAT);
    const { usage: _, ...rest } = JSON.parse(wholeChat);
    reply(JSON.stringify(rest));
    t.equal(call.deliveredTokens, 10);
  });

  t.test("with choices is a reply, whatever its error is", async (t) => {
    for (const error of ["{}", "null"]) {
      const { ends, reply } = metered({}, CHAT);
      reply(`{"choices":[{"message":{"content":"x"}}],"error":${error}}`);
      t.strictSame(ends, [COMPLETE], error);
    }
  });

  t.test("that ends early is not read", async (t) => {
    const { call, sink, ends } = metered({}, CHAT);
    sink.head(200, []);
    sink.data(Buffer.from(wholeChat));
    sink.end({ kind: "gone" });
    t.strictSame([call.delivered, ends], [false, [{ kind: "gone" }]]);
  });
});

t.test("speech is delivered with its bytes or events, and not parsed", async (t) => {
  const model = modelOf({ standard: "speech" });
  const { call, reply, ends, seen } = metered({ model }, "/v1/audio/speech");
  reply("RIFF");
  t.strictSame([call.delivered, call.replyBody], [true, undefined]);
  t.strictSame([ends, seen], [[COMPLETE], ["head 200", "RIFF"]]);
  const events = metered({ model }, "/v1/audio/speech");
  events.send({ type: "speech.audio.done", usage: { input_tokens: 4, output_tokens: 9 } });
  events.sink.end(COMPLETE);
  t.equal(events.call.delivered, true);
  t.match(events.call.usage, { inputTokens: 4, outputTokens: 9 });
});

t.test("a report that comes early", async (t) => {
  const early = (completion_tokens: number) => ({
    ...delta("ab"),
    usage: { prompt_tokens: 50, completion_tokens, total_tokens: 50 + completion_tokens },
  });
  const closed = (kind: "complete" | "gone", ...events: object[]) => {
    const { call, sink, send, plugin } = metered({ stream: true }, CHAT);
    sink.head(200, []);
    for (const event of events) send(event);
    sink.end({ kind });
    Object.assign(call, { status: 200, delivered: true, outcome: kind });
    plugin.close?.(call);
    return [call.usage?.inputTokens, call.usage?.outputTokens, call.estimated];
  };
  const hundred = delta("x".repeat(200));

  t.test("does not stop the count of what follows", async (t) => {
    t.strictSame(closed("gone", early(0), hundred), [50, 101, true]);
    t.strictSame(closed("gone", early(30), hundred), [50, 130, true]);
    t.strictSame(closed("complete", early(1), hundred), [50, 101, true]);
  });

  t.test("is the last word if nothing follows, or hardly anything", async (t) => {
    t.strictSame(closed("gone", hundred, early(30)), [50, 30, false]);
    t.strictSame(closed("complete", early(30), delta("x".repeat(20))), [50, 30, false]);
  });

  t.test("is no zero if text was delivered", async (t) => {
    t.strictSame(closed("complete", hundred, early(0)), [50, 101, true]);
    t.strictSame(closed("complete", delta("x".repeat(20)), early(0)), [50, 0, false]);
  });
});

t.test("a report of one number for input and output", async (t) => {
  const closed = (model: Model) => {
    const { call, reply, plugin } = metered({ model, stream: false }, CHAT);
    const message = { role: "assistant", content: "x".repeat(200) };
    reply(JSON.stringify({ choices: [{ message }], usage: { total_tokens: 150 } }));
    Object.assign(call, { status: 200, outcome: "complete", inputTokensLikely: 30 });
    plugin.close?.(call);
    return [call.usage?.inputTokens, call.usage?.outputTokens, call.estimated];
  };
  t.strictSame(closed(modelOf()), [150, 0, false], "one price: all of it is input");
  const dearOutput = modelOf({ price: priced("mtok", 2, { output: 4 }) });
  t.strictSame(closed(dearOutput), [50, 100, true], "the delivered part is output");
});

t.test("a report beyond belief", async (t) => {
  t.test("is replaced by the estimate, with a line in the log", async (t) => {
    const { call, sink, send, plugin, desk } = metered({ stream: true }, CHAT);
    sink.head(200, []);
    send(delta("abcd"));
    send({ choices: [], usage: { prompt_tokens: 1e12, completion_tokens: 3, total_tokens: 1e12 } });
    sink.end(COMPLETE);
    Object.assign(call, { status: 200, inputTokensLikely: 30 });
    plugin.close?.(call);
    t.match(call.usage, { inputTokens: 30, outputTokens: 3 });
    t.equal(call.estimated, true);
    t.match(desk.lines, [{ call_id: "id", model: "sim-large", inputTokens: 1e12 }]);
  });

  t.test("marks the record also of a reply without an estimate", async (t) => {
    const model = modelOf({ standard: "images" });
    const { call, reply } = metered({ model }, "/v1/images/generations");
    reply('{"data":[{}],"usage":{"input_tokens":1000000000000,"output_tokens":3}}');
    t.equal(call.estimated, true);
    t.match(call.usage, { inputTokens: 0 });
  });
});

t.test("after a reload the bound has what the upstreams state now", (t) => {
  const stating = (request: number) => {
    const config = { profile: { overhead_tokens: { request } } };
    return { get: () => ({ config }) };
  };
  const services = { ...deskOf().services, upstreams: stating(7) as never };
  const plugin = meter(services, { ...SETTINGS, hold: { ...FACTORS, overhead_share: 1 } });
  const model = modelOf({ routes: [{ upstream: "u", model: "m", profile: {} }] as never });
  const bound = () => {
    const call = preparedCall({ model });
    plugin.request?.(call);
    return call.inputTokensBound ?? 0;
  };
  const before = bound();
  services.upstreams = stating(50_000) as never;
  t.equal(bound(), before + 50_000 - 7);
  t.equal(bound(), before + 50_000 - 7);
  t.end();
});

t.test("without a request to an upstream nothing is counted", async (t) => {
  const plugin = meter(deskOf().services, SETTINGS);
  const call = newCall();
  const client: Sink = { head() {}, event() {}, data() {}, end() {} };
  plugin.request?.(call);
  t.equal(plugin.name, "meter");
  t.equal(call.usage, undefined);
  t.equal(plugin.stream?.(call, client), client);
  await plugin.stop?.();
});
