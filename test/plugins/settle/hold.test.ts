import t from "tap";
import { ONE } from "../../../core/catalogue/price-factors.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import type { CallPurse } from "../../../core/plugin/call.ts";
import {
  isRefusal,
  type Model,
  type Profile,
  refuse,
  type UpstreamRequest,
  v,
} from "../../../core/plugin/index.ts";
import { hidesReasoning } from "../../../core/upstream/hidden-reasoning.ts";
import settle, { options } from "../../../plugins/settle/index.ts";
import {
  type Desk,
  deskOf,
  keyOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  priced,
  replyHeaders,
  SETTLE_SETTINGS,
} from "../../support/plugin-desk.ts";

type Settings = Parameters<typeof settle>[1];

const SETTINGS: Settings = { ...SETTLE_SETTINGS, when_client_leaves: "linger" };

async function request(desk: Desk, call: HttpCall, settings: Partial<Settings> = {}) {
  return settle(desk.services, { ...SETTINGS, ...settings }).request?.(call);
}

/** Holds for one call; returns `amount floor` in µđ. */
async function heldFor(changes: PreparedChanges, path?: string): Promise<string> {
  const desk = deskOf();
  await request(desk, preparedCall({ inputTokensBound: 100, ...changes }, path));
  const [hold] = desk.wallets.holds;
  return `${hold?.amountMicroVnd} ${hold?.floorMicroVnd}`;
}

const body = (fields: object) => ({ model: "sim-large", messages: [], ...fields });
const perCall = modelOf({ price: priced("call", 5_000) });
const perImage = modelOf({
  standard: "images",
  price: priced("image", 5_000),
});

const withCaches = modelOf({ price: priced("mtok", 2, { cached_input: 0.1, cache_write: 1.25 }) });
const cheapCaches = priced("mtok", 2, { cached_input: 0.1, cache_write: 0.5 });

t.test("the hold of a call, at 2 µđ a token with 100 tokens of input", async (t) => {
  // A call | its amount and floor in µđ
  const table: [string, PreparedChanges, string, string?][] = [
    ["no limit: the model's whole output", {}, "16200 202"],
    ["a limit below the model's", { body: body({ max_tokens: 50 }) }, "300 202"],
    ["a limit above the model's", { body: body({ max_tokens: 9_000 }) }, "16200 202"],
    ["a model without a limit", { model: modelOf({ maxOutputTokens: undefined }) }, "64200 202"],
    ["three choices", { body: body({ max_tokens: 50, n: 3 }) }, "500 206", "/v1/chat/completions"],
    ["Responses, which take no limit below 16", {}, "16200 232", "/v1/responses"],
    ["their stream", { stream: true }, "2248 232", "/v1/responses"],
    ["a stream: one slice of output", { stream: true }, "2248 202"],
    ["a stream below a slice", { stream: true, body: body({ max_tokens: 50 }) }, "300 202"],
    ["a price per call", { model: perCall }, "5000 5000"],
    ["images", { model: perImage, body: { n: 3 } }, "15000 15000", "/v1/images/generations"],
    ["one image", { model: perImage, body: {} }, "5000 5000", "/v1/images/generations"],
    ["dearer output", { model: modelOf({ price: priced("mtok", 2, { output: 4 }) }) }, "64200 208"],
    ["input that may be cached or not", { model: withCaches, stream: true }, "2298 252"],
    ["cheap caches", { model: modelOf({ price: cheapCaches }), stream: true }, "2248 202"],
    [
      "a factor of a call",
      { model: modelOf({ price: priced("call", 5_000, { per_call: 0.5 }) }) },
      "2500 2500",
    ],
    ["the key's discount", { key: keyOf({ discountBps: 5_000 }) }, "8100 101"],
  ];
  for (const [what, changes, expected, path] of table) {
    t.equal(await heldFor(changes, path), expected, what);
  }
});

t.test("a stream of more choices than a slice has tokens holds one token for each", async (t) => {
  const desk = deskOf();
  const call = preparedCall({ stream: true, body: body({ n: 40 }) }, "/v1/chat/completions");
  await request(desk, call, { slice_tokens: 16 });
  t.equal(desk.wallets.holds[0]?.amountMicroVnd, 80);
});

t.test("a form asks for one choice", async (t) => {
  const desk = deskOf();
  const call = preparedCall({ inputTokensBound: 100 }, "/v1/images/edits");
  await request(desk, Object.assign(call, { upstream: { ...call.upstream, body: undefined } }));
  t.equal(desk.wallets.holds[0]?.floorMicroVnd, 202);
});

t.test("the options", async (t) => {
  t.strictSame(v.parse(options, {}), SETTINGS);
  const lingering = { linger_seconds: 0, linger_reasoning_seconds: 900 };
  const leaving = { when_client_leaves: "drain", ...lingering };
  const set = { slice_tokens: 16, when_exhausted: "finish", ...leaving };
  t.strictSame(v.parse(options, set), set);
  for (const wrong of [
    { slice_tokens: 15 },
    { slice_tokens: 1_000_001 },
    { when_exhausted: "stop" },
    { when_client_leaves: "" },
    { linger_seconds: 901 },
    { linger_reasoning_seconds: -1 },
    { linger_reasoning_seconds: 901 },
    { topup_address: "" },
    { other: 1 },
  ]) {
    t.notOk(v.safeParse(options, wrong).success, JSON.stringify(wrong));
  }
});

t.test("a hold names its call, account, key, credit version and purses", async (t) => {
  const desk = deskOf();
  const refusal = () => refuse.rateLimited("used up");
  const wanted: CallPurse[] = [{ name: "day", limitMicroVnd: 5, refusal }];
  await request(desk, preparedCall({ purses: wanted }));
  const { callId, accountId, keyId, creditVersion, purses } = desk.wallets.holds[0] ?? {};
  t.strictSame([callId, accountId, keyId, creditVersion, purses], ["id", "A", "K", 7, wanted]);
  const without = deskOf();
  await request(without, preparedCall());
  t.equal(without.wallets.holds[0]?.purses, undefined);
});

t.test("a call that is held", async (t) => {
  t.test("keeps the whole limit, and what is held", async (t) => {
    const call = preparedCall({ inputTokensBound: 100 });
    t.equal(await request(deskOf(), call), undefined);
    t.equal(call.heldMicroVnd, 16_200);
    t.equal(call.upstream.outputLimit, undefined);
    t.match(call.held, { baseQuantity: 100 * ONE, outputTokens: 8_000, outputTokensMax: 8_000 });
  });

  t.test("is limited to the output that a short wallet affords, for each choice", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = async () => ({ kind: "held", amountMicroVnd: 303 });
    const call = preparedCall(
      { inputTokensBound: 100, body: body({ n: 2 }) },
      "/v1/chat/completions",
    );
    t.equal(await request(desk, call), undefined);
    t.equal(call.held?.outputTokens, 51);
    t.equal(call.upstream.outputLimit, 25);
    t.equal(call.heldMicroVnd, 303);
  });

  t.test("is limited by the price of output, and its input is held at its dearest", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = async () => ({ kind: "held", amountMicroVnd: 658 });
    const price = priced("mtok", 2, { cached_input: 0.1, cache_write: 1.25, output: 4 });
    const call = preparedCall({ inputTokensBound: 100, model: modelOf({ price }) });
    await request(desk, call);
    // 250 µđ for 100 tokens of input; 408 µđ are left for tokens at 8 µđ.
    t.strictSame([call.held?.outputTokens, call.upstream.outputLimit], [51, 51]);
  });

  t.test("is limited by its model alone if it has a fixed price", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = () => ({ kind: "held", amountMicroVnd: 4_000 });
    const call = preparedCall({ model: perCall });
    await request(desk, call);
    t.equal(call.upstream.outputLimit, 8_000);
    t.equal(call.held?.outputTokens, 0);
  });
});

t.test("a call without a hold gets", async (t) => {
  const purses: CallPurse[] = [
    { name: "month", limitMicroVnd: 1, refusal: () => refuse.forbidden("the month's") },
    { name: "day", limitMicroVnd: 1, refusal: (left) => refuse.rateLimited(`the day's: ${left}`) },
  ];
  async function refusalFor(desk: Desk, settings: Partial<Settings> = {}): Promise<string> {
    const call = preparedCall({ purses });
    const verdict = await request(desk, call, settings);
    t.equal(call.held, undefined, "nothing is held");
    return isRefusal(verdict) ? `${verdict.status} ${verdict.message}` : "served";
  }

  t.test("402 and the page for top-ups, from a short wallet or without an account", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = () => ({ kind: "short", purse: "wallet", availableMicroVnd: 1 });
    t.match(await refusalFor(desk), /^402 .*http:\/\/127\.0\.0\.1:8080\/dashboard/);
    t.match(await refusalFor(desk, { topup_address: "https://pay" }), /^402 .*https:\/\/pay;/);
    const customers = { current: { publicUrl: "https://api.example" } };
    Object.assign(desk.services, { customers });
    t.match(await refusalFor(desk), /^402 .* https:\/\/api\.example\/dashboard;/);
    desk.wallets.onHold = () => ({ kind: "no_account" });
    t.match(await refusalFor(desk), /^402 /);
  });

  t.test("the refusal of the purse that is short, with what it has left", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = () => ({ kind: "short", purse: "day", availableMicroVnd: 9 });
    t.equal(await refusalFor(desk), "429 the day's: 9");
  });

  t.test("503 and one line in the log, if the store is unavailable", async (t) => {
    const desk = deskOf();
    desk.wallets.onHold = () => ({ kind: "unavailable", reason: "down" });
    t.match(await refusalFor(desk), /^503 /);
    t.match(desk.lines, [{ call_id: "id", reason: "down" }]);
  });

  t.test("401, 403 or 503, by what the ledger says about a revoked key", async (t) => {
    const found = {
      revoked: keyOf({ status: "revoked" }),
      suspended: keyOf({ accountStatus: "suspended" }),
      resumed: keyOf(),
      deleted: undefined,
    };
    const statuses: Record<string, string> = {};
    for (const [what, key] of Object.entries(found)) {
      const desk = deskOf({ keys: { refused: async () => key } });
      desk.wallets.onHold = () => ({ kind: "revoked" });
      statuses[what] = (await refusalFor(desk)).slice(0, 3);
    }
    const expected = { revoked: "401", suspended: "403", resumed: "503", deleted: "401" };
    t.strictSame(statuses, expected);
    const away = deskOf({ keys: { refused: () => Promise.reject(new Error("away")) } });
    away.wallets.onHold = () => ({ kind: "revoked" });
    t.match(await refusalFor(away), /^401 /, "the hold store decides if the ledger is down");
  });
});

t.test("a hold at an old price is taken again with the key as it is now", async (t) => {
  const now = keyOf({ discountBps: 5_000, creditVersion: 8 });
  const desk = deskOf({ keys: { renew: async () => now } });
  desk.wallets.onHold = ({ creditVersion = 0, amountMicroVnd }) =>
    creditVersion < 9 ? { kind: "stale" } : { kind: "held", amountMicroVnd };
  const call = preparedCall({ inputTokensBound: 100 });
  t.equal(await request(desk, call), undefined);
  t.strictSame(
    desk.wallets.holds.map(({ amountMicroVnd }) => amountMicroVnd),
    [16_200, 8_100],
  );
  t.equal(call.key, now);
  t.equal(call.held?.tariff.discountBps, 5_000);
});

t.test("a call without a key, a model or an upstream is not held and shows no price", async (t) => {
  for (const field of ["key", "model", "upstream"] as const) {
    const desk = deskOf();
    const call = Object.assign(preparedCall(), { [field]: undefined });
    t.equal(await request(desk, call), undefined);
    t.strictSame([desk.wallets.holds, call.replyHeaders], [[], []], field);
  }
});

t.test("the reply names the price of a million tokens, a request or an image", async (t) => {
  const models = [modelOf(), perCall, perImage];
  const shown = await Promise.all(
    models.map(async (model) => {
      const call = preparedCall({ model });
      await request(deskOf(), call);
      return replyHeaders(call);
    }),
  );
  t.strictSame(shown, [
    { "x-svc-price-vnd-per-mtok": "2" },
    { "x-svc-price-vnd-per-request": "0.005" },
    { "x-svc-price-vnd-per-image": "0.005", "x-svc-price-vnd-per-request": "0.005" },
  ]);
});

t.test("the price of a reply is the one that applies, with its discount in a header", async (t) => {
  const call = preparedCall({ key: keyOf({ discountBps: 700 }), model: perCall });
  await request(deskOf(), call);
  t.strictSame(replyHeaders(call), {
    "x-svc-price-vnd-per-request": "0.00465",
    "x-svc-discount-bps": "700",
  });
});

t.test("a call whose client leaves goes on for as long as the options say", async (t) => {
  const profiles: Record<string, Profile> = {
    open: { streams_reasoning: true },
    always: { thinking_default: "on", thinking_off: "lowest" },
    usually: { thinking_default: "on", thinking_off: "between_tools" },
  };
  const upstreams = {
    hidesReasoning: (model: Model, upstream: UpstreamRequest) =>
      hidesReasoning(model, upstream, model.routes, (name) => profiles[name]),
  };
  const thinker = (upstream: string) =>
    modelOf({
      labels: new Set(["reasoning"]),
      routes: [{ upstream, model: "m", weight: 1, priority: 0, profile: {}, features: {} }],
    });
  const chat = "/v1/chat/completions";
  const thinking = { messages: [], thinking: { type: "enabled" } };
  const quiet = { messages: [], reasoning_effort: "none" };
  const terse = { input: "a", reasoning: { effort: "none" } };
  const off = { messages: [], thinking: { type: "disabled" } };
  const form = { upstream: { ...preparedCall({}, chat).upstream, body: undefined } };
  const withTools = { ...off, tools: [{ name: "a" }] };
  const table: [what: string, ms: number, PreparedChanges, Partial<Settings>, string?][] = [
    ["by default", 2_000, {}, {}],
    ["not streamed", Number.POSITIVE_INFINITY, { stream: false }, {}],
    ["not streamed, cancelled", 0, { stream: false }, { when_client_leaves: "cancel" }],
    ["cancelled", 0, {}, { when_client_leaves: "cancel" }],
    ["drained", Number.POSITIVE_INFINITY, {}, { when_client_leaves: "drain" }],
    ["as set", 7_000, {}, { linger_seconds: 7 }],
    ["at a fixed price", 2_000, { model: modelOf({ price: perCall.price }) }, {}],
    ["an image", Number.POSITIVE_INFINITY, {}, {}, "/v1/images/generations"],
    ["speech, as events too", Number.POSITIVE_INFINITY, {}, {}, "/v1/audio/speech"],
    ["reasoning that is hidden", 60_000, { model: thinker("closed") }, {}, chat],
    ["reasoning that is streamed", 2_000, { model: thinker("open") }, {}, chat],
    ["reasoning switched off", 2_000, { model: thinker("closed"), body: quiet }, {}, chat],
    [
      "the same in Responses",
      2_000,
      { model: thinker("closed"), body: terse },
      {},
      "/v1/responses",
    ],
    ["reasoning disabled in a chat", 2_000, { model: thinker("closed"), body: off }, {}, chat],
    ["a form, which has no wish", 60_000, { model: thinker("closed"), ...form }, {}, chat],
    ["Messages that do not ask to think", 2_000, { model: thinker("closed") }, {}],
    ["Messages that do", 60_000, { model: thinker("closed"), body: thinking }, {}],
    ["a model that thinks by itself", 60_000, { model: thinker("usually") }, {}],
    ["one that is asked not to", 2_000, { model: thinker("usually"), body: off }, {}],
    ["between its tools", 60_000, { model: thinker("usually"), body: withTools }, {}],
    ["one that cannot stop", 60_000, { model: thinker("always"), body: off }, {}],
    ["nor there", 60_000, { model: thinker("always"), body: quiet }, {}, chat],
  ];
  for (const [what, ms, changes, settings, path] of table) {
    const call = preparedCall({ stream: true, ...changes }, path);
    await request(deskOf({ upstreams }), call, settings);
    t.equal(call.lingerMs, ms, what);
  }
});
