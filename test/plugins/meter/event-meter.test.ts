import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { COMPLETE } from "../../../core/plugin/call.ts";
import { type Outcome, ServerEvent, type Sink } from "../../../core/plugin/index.ts";
import meter from "../../../plugins/meter/index.ts";
import {
  deskOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  replyHeaders,
} from "../../support/plugin-desk.ts";

/** One token for each byte of a reply. */
const FACTORS = {
  ...{ ascii_bytes_per_token: 1, other_bytes_per_token: 1, image_tokens: 1 },
  ...{ document_bytes_per_token: 1, density_share: 0, overhead_share: 0 },
};
const CHAT = "/v1/chat/completions";
const SPEECH = "/v1/audio/speech";

/** A call that is streamed through the plugin, and how it ends. */
function streamed(changes: PreparedChanges = {}, path = CHAT, profile?: Profile) {
  const upstreams = { get: () => ({ config: { profile } }) };
  const desk = deskOf({ upstreams });
  const plugin = meter(desk.services, { hold: FACTORS, estimate: FACTORS });
  const call = preparedCall({ stream: true, ...changes }, path);
  plugin.request?.(call);
  const ends: Outcome[] = [];
  const client: Sink = { head() {}, event() {}, data() {}, end: (outcome) => ends.push(outcome) };
  const sink = plugin.stream?.(call, client) ?? client;
  const send = (data: object) =>
    sink.event(new ServerEvent(Buffer.from(`data: ${JSON.stringify(data)}\n\n`)));
  return { call, client, desk, ends, plugin, send, sink };
}

const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const ended = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] });
const report = (prompt_tokens: number, completion_tokens: number) => ({
  choices: [],
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

t.test("a stream without any reply has failed, and is not sold", async (t) => {
  for (const events of [[], [{ object: "chat.completion.chunk", choices: [] }]]) {
    const { call, ends, send, sink } = streamed();
    sink.head(200, []);
    for (const event of events) send(event);
    sink.end(COMPLETE);
    t.match(ends, [{ kind: "broken", refusal: { status: 502 } }]);
    t.equal(call.delivered, false);
  }
});

t.test("a stream is sold by how far it came", async (t) => {
  const table: [what: string, isSold: boolean, ...object[]][] = [
    ["it ended without text", true, ended("stop")],
    ["it refused", false, ended("content_filter")],
    ["it refused after it had begun", false, delta(""), ended("content_filter")],
    ["it refused first", true, ended("content_filter"), delta("a")],
    ["text, then a refusal", true, delta("a"), ended("content_filter")],
    ["a refusal, then its end", false, ended("content_filter"), ended("stop")],
  ];
  for (const [what, isSold, ...events] of table) {
    const { call, ends, send, sink } = streamed();
    sink.head(200, []);
    for (const event of events) send(event);
    sink.end(COMPLETE);
    t.strictSame([call.delivered, ends], [isSold, [COMPLETE]], what);
  }
});

t.test("a refusal is free also if its client gets it in words", async (t) => {
  for (const wordsAt of ["event", "end"] as const) {
    const { call, send, sink, client } = streamed();
    client[wordsAt] = () => Object.assign(call, { delivered: true });
    sink.head(200, []);
    send(ended("content_filter"));
    sink.end(COMPLETE);
    t.equal(call.delivered, false, wordsAt);
  }
});

t.test("a stream whose client has left is cut once it exceeds its hold", async (t) => {
  /** Five tokens for a client that is there, and what follows them after it has left. */
  function cutsAfter(held: object | undefined, lingerMs: number, ...texts: string[]) {
    const cuts: unknown[] = [];
    const flow = { pause() {}, resume() {}, cut: (outcome: unknown) => cuts.push(outcome) };
    const { call, send, sink } = streamed({ lingerMs, flow, held } as never);
    sink.head(200, []);
    send(delta("12345"));
    Object.assign(call, { gone: true });
    for (const text of texts) send(delta(text));
    const drained = Number.isFinite(lingerMs) ? 0 : texts.join("").length;
    t.equal(call.deliveredTokens, 5 + drained, "only a call that is drained costs more");
    return cuts;
  }
  const held = { tariff: { unit: "mtok" }, outputTokens: 10 };
  const gone = { kind: "gone" };
  t.strictSame(cutsAfter(held, 2_000, "123", "45"), [], "as much as is held");
  t.strictSame(cutsAfter(held, 2_000, "123", "456"), [gone], "a token more");
  t.strictSame(cutsAfter(held, Number.POSITIVE_INFINITY, "123456789"), [], "drained");
  t.strictSame(cutsAfter({ ...held, tariff: { unit: "call" } }, 2_000, "123456789"), []);
  t.strictSame(cutsAfter(undefined, 2_000, "123456789"), [], "nothing is held");
});

t.test("cached tokens are beside the input if the profile of the route says so", async (t) => {
  const beside: Profile = { cached_tokens: "beside" };
  const table: [own: Profile | undefined, ofUpstream: Profile | undefined, boolean][] = [
    [undefined, undefined, false],
    [{}, undefined, false],
    [beside, undefined, true],
    [{}, beside, true],
    [{ cached_tokens: "inside" }, beside, false],
    [undefined, beside, false],
  ];
  for (const [own, ofUpstream, expected] of table) {
    const route = own && { upstream: "u", model: "m", profile: own };
    const { call, sink } = streamed({ route } as never, CHAT, ofUpstream);
    sink.head(200, []);
    t.equal(call.usage?.cachedBeside, expected, JSON.stringify([own, ofUpstream]));
  }
});

t.test("a report is believed up to ten times the limits, for each choice", async (t) => {
  const model = modelOf({ contextWindow: 100, maxOutputTokens: 10 });
  const route = { upstream: "u", model: "m", profile: {} };
  const of = (n: number | undefined, input: number, output: number) => {
    const body = { model: "m", messages: [], ...(n && { n }) };
    const { call, desk, send, sink } = streamed({ body, model, route } as never);
    sink.head(200, []);
    send(delta("a"));
    send(report(input, output));
    const { inputTokens, outputTokens } = call.usage ?? {};
    return { used: [inputTokens, outputTokens, call.estimated], lines: desk.lines };
  };
  t.strictSame(of(undefined, 1_000, 100).used, [1_000, 100, false]);
  t.strictSame(of(undefined, 1_000, 101).used, [1_000, 0, true]);
  t.strictSame(of(3, 1_001, 300).used, [0, 300, true]);
  t.strictSame(of(3, 1_000, 301).used, [1_000, 0, true]);
  t.match(of(undefined, 1, 101).lines, [{ upstream: "u", outputTokens: 101 }]);
});

t.test("the tokens of speech are in the headers once, as nothing", async (t) => {
  const model = modelOf({ standard: "speech" });
  const none = { "x-svc-input-tokens": "0", "x-svc-output-tokens": "0" };
  for (const [status, headers, isAudio] of [
    [200, ["content-type", "audio/mpeg"], true],
    [200, [], true],
    [200, ["content-type", "application/json"], false],
    [200, ["content-type", "text/event-stream; charset=utf-8"], false],
    [400, ["content-type", "audio/mpeg"], false],
  ] as const) {
    const { call, sink } = streamed({ model, stream: false }, SPEECH);
    sink.head(status, headers);
    t.strictSame(replyHeaders(call), isAudio ? none : {}, `${status} ${headers[1]}`);
  }
  const audio = streamed({ model, stream: false }, SPEECH);
  audio.sink.head(200, ["content-type", "audio/mpeg"]);
  t.strictSame(replyHeaders(audio.call), none, "before the audio leaves");
  audio.sink.data(Buffer.from("RIFF"));
  audio.sink.end(COMPLETE);
  Object.assign(audio.call, { status: 200, outcome: "complete" });
  audio.plugin.close?.(audio.call);
  t.equal(audio.call.replyHeaders.length, 4);
});

t.test("a whole reply that only refuses passes, and is not sold", async (t) => {
  const { call, ends, sink } = streamed({ stream: false });
  const refused = { index: 0, message: { content: null }, finish_reason: "content_filter" };
  sink.head(200, ["content-type", "application/json"]);
  call.replyBody = { ...report(7, 3), choices: [refused] };
  sink.data(Buffer.from(JSON.stringify(call.replyBody)));
  sink.end(COMPLETE);
  t.strictSame([call.delivered, ends], [false, [COMPLETE]]);
  t.match(call.usage, { inputTokens: 0, outputTokens: 0 });
});
