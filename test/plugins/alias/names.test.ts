import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { isRefusal, type Model } from "../../../core/plugin/index.ts";
import type { ModelNames } from "../../../core/plugin/model-names.ts";
import alias from "../../../plugins/alias/index.ts";
import { review } from "../../../plugins/alias/review.ts";
import { deskOf, modelOf, preparedCall, replyHeaders } from "../../support/plugin-desk.ts";

type Settings = Parameters<typeof alias>[1];

const DEFAULTS = { unknown: "top", dated_names: "top", prefixes: "keep" } as const;

const MODELS = [
  modelOf({ id: "claude-opus-5" }),
  modelOf({ id: "claude-haiku-4" }),
  modelOf({ id: "gpt-5", standard: "chat", labels: new Set() }),
  modelOf({ id: "req/draw", standard: "images", labels: new Set() }),
  modelOf({ id: "req/speak", standard: "speech", labels: new Set() }),
];

/** With versions of two numbers. */
const VERSIONS = [
  ...MODELS,
  modelOf({ id: "claude-small-4-5" }),
  modelOf({ id: "gpt-5.5", standard: "chat", labels: new Set() }),
  modelOf({ id: "gpt-oss-120b", standard: "chat", labels: new Set() }),
];

function plugin(settings: Partial<Settings> = {}, models: readonly Model[] = MODELS) {
  const provided: ModelNames[] = [];
  const modelNames = { provide: (names: ModelNames) => provided.push(names) };
  const { services } = deskOf({ catalogue: new Catalogue(models), modelNames });
  return { plugin: alias(services, { ...DEFAULTS, ...settings }), provided };
}

/** The model that a name gets, as `id`, `id from the name`, or the status of the refusal. */
function named(
  name: unknown,
  settings: Partial<Settings> = {},
  path = "/v1/messages",
  models = MODELS,
): string {
  const call = preparedCall({ body: { model: name }, model: undefined }, path);
  const verdict = plugin(settings, models).plugin.request?.(call);
  if (isRefusal(verdict)) {
    t.equal(call.model, undefined, "a refused call has no model");
    return `${verdict.status} ${verdict.param}`;
  }
  return call.mappedFrom === null
    ? `${call.model?.id}`
    : `${call.model?.id} from ${call.mappedFrom}`;
}

t.test("the model of a name", async (t) => {
  const refusing: Partial<Settings> = { unknown: "refuse" };
  const haiku: Partial<Settings> = { default_family: "haiku" };
  const set: Partial<Settings> = { families: { best: "gpt-5" }, default_family: "best" };
  const table: [string, string, Partial<Settings>?, string?][] = [
    ["claude-haiku-4", "claude-haiku-4"],
    ["haiku", "claude-haiku-4 from haiku"],
    ["opus", "claude-opus-5 from opus"],
    ["claude-3-opus", "claude-opus-5 from claude-3-opus"],
    ["claude-3-opus", "claude-haiku-4 from claude-3-opus", haiku],
    ["claude-3-opus", "404 model", refusing],
    ["haiku", "claude-haiku-4 from haiku", refusing],
    ["best", "gpt-5 from best", set],
    ["haiku", "gpt-5 from haiku", set],
    ["req/draw", "req/draw", {}, "/v1/images/generations"],
    ["unheard-of", "404 model", {}, "/v1/images/generations"],
    ["unheard-of", "404 model", {}, "/v1/audio/speech"],
    ["req/draw", "400 model"],
    ["gpt-5", "400 model", {}, "/v1/audio/speech"],
  ];
  for (const [name, expected, settings, path] of table) {
    t.equal(named(name, settings, path), expected, `${name} ${path ?? ""}`);
  }
});

t.test(
  "an unknown name gets a model that is served, also after a reload without translate",
  (t) => {
    const config = {
      plugins: [{ name: "translate", module: { sets: ["upstream"] } }],
      headers: { prefix: "x-svc-", corsOrigins: [] },
    };
    const parts = { config, catalogue: new Catalogue(MODELS), upstreams: { get: () => undefined } };
    const { services } = deskOf({ ...parts, modelNames: { provide: () => {} } });
    const { request } = alias(services, DEFAULTS);
    const ask = () => {
      const body = { model: "unheard-of" };
      const call = preparedCall({ body, model: undefined }, "/v1/responses");
      const verdict = request?.(call);
      return isRefusal(verdict) ? verdict.status : call.model?.id;
    };
    t.equal(ask(), "claude-opus-5");
    config.plugins = [];
    t.equal(ask(), 404);
    t.end();
  },
);

t.test("a name that is spelled in another way", async (t) => {
  const dated: Partial<Settings> = { dated_names: "resolve" };
  const bare: Partial<Settings> = { prefixes: "strip" };
  const both: Partial<Settings> = { ...dated, ...bare };
  const top = "claude-opus-5";
  const haiku = "claude-haiku-4";
  const table: [string, string, Partial<Settings>][] = [
    ["claude-haiku-4-20251001", top, {}],
    ["claude-haiku-4-20251001", haiku, dated],
    ["claude-haiku-4@20251001", haiku, dated],
    ["gpt-5-2025-08-07", "gpt-5", dated],
    ["gpt-5-0807", "gpt-5", dated],
    ["gpt-5-1307", top, dated],
    ["gpt-5-20251301", top, dated],
    ["gpt-5-mini-2025-08-07", top, dated],
    ["Claude-Haiku-4", haiku, dated],
    ["Claude-Haiku-4", haiku, bare],
    ["Claude-Haiku-4", top, {}],
    ["anthropic/claude-haiku-4", top, dated],
    ["anthropic/claude-haiku-4", haiku, bare],
    ["openrouter/anthropic/claude-haiku-4", haiku, bare],
    ["models/gpt-5", "gpt-5", bare],
    ["anthropic/claude-haiku-4-20251001", top, bare],
    ["anthropic/claude-haiku-4-20251001", haiku, both],
    ["us.anthropic.claude-haiku-4-20251001-v1:0", haiku, both],
    ["anthropic/haiku", haiku, both],
    // OpenRouter and Cloudflare write versions with a dot, others without.
    ["claude-small-4.5", "claude-small-4-5", dated],
    ["anthropic/claude-small-4.5", "claude-small-4-5", bare],
    ["anthropic/claude-small-4.5-20251001", "claude-small-4-5", both],
    ["openai/gpt-5-5", "gpt-5.5", bare],
    ["openai/gpt-5-5-2026-04-23", "gpt-5.5", both],
    ["claude-small-4.5", top, {}],
    ["gpt-5.6", top, both],
    // Bedrock's releases, with a date or without
    ["us.anthropic.claude-small-4-5-v1", "claude-small-4-5", both],
    ["us.anthropic.claude-small-4-5-v1:0", "claude-small-4-5", both],
    ["openai.gpt-oss-120b-1:0", "gpt-oss-120b", both],
    // A version, not a release
    ["claude-opus-5-5:0", "404 model", { ...both, unknown: "refuse" }],
    ["gpt-5-4:3", "404 model", { ...both, unknown: "refuse" }],
    ["us.anthropic.claude-small-4-5-v1", top, bare],
    ["gpt-5-v", top, both],
    ["anthropic/claude-3-opus", top, both],
    ["anthropic/claude-3-opus", "404 model", { ...both, unknown: "refuse" }],
    ["/", top, both],
  ];
  for (const [name, expected, settings] of table) {
    const shown = expected.startsWith("404") ? expected : `${expected} from ${name}`;
    t.equal(
      named(name, settings, "/v1/messages", VERSIONS),
      shown,
      `${name} ${JSON.stringify(settings)}`,
    );
  }
  t.equal(
    named("openai/req/draw", bare, "/v1/images/generations"),
    "req/draw from openai/req/draw",
  );
});

t.test("a model of images or speech is served under its name without req/", async (t) => {
  t.equal(named("draw", {}, "/v1/images/edits"), "req/draw from draw");
  t.equal(named("speak", {}, "/v1/audio/speech"), "req/speak from speak");
  t.equal(
    named("openai/speak", { prefixes: "strip" }, "/v1/audio/speech"),
    "req/speak from openai/speak",
  );
  t.equal(named("gpt-5", {}, "/v1/images/edits"), "400 model");
  const two = plugin({}, [...MODELS, modelOf({ id: "req/paint", standard: "images" })]).plugin;
  for (const model of ["draw", "paint"]) {
    const call = preparedCall({ body: { model }, model: undefined }, "/v1/images/generations");
    t.equal(two.request?.(call), undefined);
    t.equal(call.model?.id, `req/${model}`);
  }
  t.equal(named("speak", {}, "/v1/images/generations"), "404 model");
  t.equal(named("draw"), "claude-opus-5 from draw");
});

t.test(
  "a model that has no provider is not replaced by another, however it is spelled",
  async (t) => {
    const services = deskOf({
      catalogue: new Catalogue(MODELS, [modelOf({ id: "gpt-6" })]),
    }).services;
    const own = alias(services, { unknown: "top", dated_names: "resolve", prefixes: "strip" });
    for (const model of ["gpt-6", "GPT-6", "openai/gpt-6-2026-01-02"]) {
      t.match(own.request?.(preparedCall({ body: { model } })), { status: 404 }, model);
    }
  },
);

t.test("a refused name comes with the nearest ones that the endpoint serves", async (t) => {
  const refusal = (name: string, path: string) => {
    const call = preparedCall({ body: { model: name } }, path);
    const verdict = plugin({ unknown: "refuse" }).plugin.request?.(call);
    return isRefusal(verdict) ? verdict.message : "";
  };
  t.match(
    refusal("claude-haku-4", "/v1/messages"),
    /nearest names are claude-haiku-4, claude-opus-5, gpt-5\.$/,
  );
  t.match(refusal("x".repeat(256), "/v1/audio/speech"), /nearest names are req\/speak\.$/);
});

t.test("a name that is no name is 400", async (t) => {
  for (const name of [undefined, 7, "", "x".repeat(257)]) t.equal(named(name), "400 model");
  t.equal(named("x".repeat(256)), `claude-opus-5 from ${"x".repeat(256)}`);
});

t.test("unknown names are 404 if there is no default family to serve them", async (t) => {
  const only = plugin({}, [modelOf({ id: "gpt-5" })]).plugin;
  t.match(only.request?.(preparedCall({ body: { model: "gpt-4" } })), { status: 404 });
});

t.test("the reply names the model, and the name that was sent if it is another", async (t) => {
  const headersFor = (model: string) => {
    const call = preparedCall({ body: { model } });
    plugin().plugin.request?.(call);
    return replyHeaders(call);
  };
  t.strictSame(headersFor("claude-opus-5"), { "x-svc-model": "claude-opus-5" });
  t.strictSame(headersFor("haiku"), {
    "x-svc-model": "claude-haiku-4",
    "x-svc-model-mapped-from": "haiku",
  });
  for (const [sent, shown] of [
    ["a b", "a%20b"],
    ["é", "%C3%A9"],
    ["~!", "~!"],
    ["a\r\nx: 1", "a%0D%0Ax%3A%201"],
  ]) {
    t.equal(headersFor(sent ?? "")["x-svc-model-mapped-from"], shown);
  }
});

t.test("other plugins find the same names in the slot", async (t) => {
  const { plugin: own, provided } = plugin();
  await own.start?.();
  const [chat] = endpoints;
  t.equal(provided.length, 1);
  if (!chat) throw new Error("no endpoint");
  t.match(provided[0]?.resolve("haiku", chat), { model: { id: "claude-haiku-4" } });
  t.match(provided[0]?.resolve("", chat), { status: 400 });
});

t.test("options that can never serve a call are faults", async (t) => {
  const config = { catalogue: new Catalogue(MODELS) } as never;
  const faultsOf = (settings: Partial<Settings>) =>
    review({ ...DEFAULTS, ...settings }, config).map(
      ({ path, message, quoted }) => `${path.join(".")}${quoted ? " quoted" : ""}: ${message}`,
    );
  t.strictSame(faultsOf({}), []);
  t.strictSame(faultsOf({ families: { best: "gpt-5" } }), []);
  t.match(faultsOf({ families: { best: "gpt-6" } }), [/^families\.best quoted: .*a model of/]);
  t.match(faultsOf({ families: { "gpt-5": "claude-opus-5" } }), [
    /^families\.gpt-5: .*not a model id/,
  ]);
  t.match(faultsOf({ families: { best: "req/draw" } }), [/^families\.best: .*a chat model/]);
  t.strictSame(faultsOf({ families: { best: "gpt-5", draw: "req/draw" } }), []);
  t.match(faultsOf({ default_family: "sonnet" }), [
    /^default_family quoted: expected one of the families \(opus, haiku\)$/,
  ]);
  t.match(faultsOf({ families: {}, default_family: "x" }), [/\(none; set families/]);
});
