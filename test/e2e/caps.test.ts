import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { stringify } from "yaml";
import { committedWallet, usage } from "../support/admin.ts";
import { assertNotCharged, customerWith } from "../support/billed.ts";
import { echoIn } from "../support/echo.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { asking, bodies, eventsOf, paths, post } from "../support/requests.ts";

type Chat = "messages" | "chat" | "responses";
type Fields = Readonly<Record<string, unknown>>;

const MOST = 4_000;
const STREAM = { stream: true };
const USUAL = { max_tokens: 3_000 };
const CAPS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** A model at a fixed price, with a window of which it sells a part. */
const perCall = (id: string, standard: string) => {
  const { price_vnd_per_mtok: _, ...rest } = entry(id, standard, {});
  return { ...rest, price_vnd_per_call: 1_000, input_tokens_max: 1_000 };
};

const entry = (id: string, standard: string, profile: object) => ({
  id,
  price_vnd_per_mtok: 10_000,
  context_window: 100_000,
  max_output_tokens: MOST,
  labels: ["streaming"],
  standard,
  routes: [{ upstream: standard === "chat" ? "openai" : "anthropic", model: id, profile }],
});

let gateway: TestGateway;
let customer: Awaited<ReturnType<typeof customerWith>>;
t.before(async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  const models = [
    entry("strict", "chat", {}),
    entry("compatible", "chat", { dialect: "compatible" }),
    entry("usual", "chat", { dialect: "compatible", default_max_tokens: 3_000 }),
    entry("named", "chat", { max_tokens_field: "max_tokens" }),
    entry("claude", "messages", {}),
    perCall("req/strict", "chat"),
    perCall("req/claude", "messages"),
  ];
  writeFileSync(catalogue, stringify({ models }));
  gateway = await startGateway({
    config: { catalogue },
    plugins: { alias: { default_family: "any", families: { any: "claude" } } },
  });
  rmSync(folder, { recursive: true });
  customer = await customerWith(gateway);
});
t.teardown(() => gateway.close());

/** Sends a call. Returns the caps that its upstream gets. */
async function capsOf(protocol: Chat, model: string, fields: Fields, caller = customer) {
  const body = { ...bodies[protocol]({ echo: true }, { model, max_tokens: undefined }), ...fields };
  const { status, json, text } = await post(gateway, paths[protocol], caller, body);
  t.equal(status, 200, text);
  const said =
    fields["stream"] === true
      ? eventsOf(text)
          .map(({ choices }) => choices?.[0]?.delta?.content ?? "")
          .join("")
      : (json.content?.[0]?.text ??
        json.choices?.[0]?.message?.content ??
        json.output?.[0]?.content?.[0]?.text);
  const sent: Fields = echoIn(said).body;
  return Object.fromEntries(CAPS.filter((name) => name in sent).map((name) => [name, sent[name]]));
}

t.test("the cap of a call goes upstream", async (t) => {
  const rows: readonly (readonly [
    what: string,
    protocol: Chat,
    model: string,
    given: Fields,
    sent: Fields,
  ])[] = [
    [
      "under the name that the upstream knows",
      ...(["chat", "compatible"] as const),
      { max_completion_tokens: 16 },
      { max_tokens: 16 },
    ],
    [
      "under the name that the profile gives",
      ...(["chat", "named"] as const),
      { max_completion_tokens: 16 },
      { max_tokens: 16 },
    ],
    [
      "under the newer name",
      ...(["chat", "strict"] as const),
      { max_tokens: 16 },
      { max_completion_tokens: 16 },
    ],
    [
      "once, the larger of two",
      ...(["chat", "compatible"] as const),
      { max_completion_tokens: 16, max_tokens: 3_000 },
      { max_tokens: 3_000 },
    ],
    [
      "once, the larger of two, under the newer name",
      ...(["chat", "strict"] as const),
      { max_completion_tokens: 3_000, max_tokens: 16 },
      { max_completion_tokens: 3_000 },
    ],
    ...(["strict", "compatible", "claude"] as const).map((model) => {
      const name = model === "strict" ? "max_completion_tokens" : "max_tokens";
      const row = ["at most the model's maximum", "chat", model] as const;
      return [...row, { max_completion_tokens: 1_000_000 }, { [name]: MOST }] as const;
    }),
    [
      "at most the model's maximum",
      ...(["messages", "claude"] as const),
      { max_tokens: 1_000_000 },
      { max_tokens: MOST },
    ],
    [
      "at most the model's maximum",
      ...(["messages", "compatible"] as const),
      { max_tokens: 1_000_000 },
      { max_tokens: MOST },
    ],
    [
      "at most the model's maximum",
      ...(["responses", "strict"] as const),
      { max_output_tokens: 1_000_000 },
      { max_output_tokens: MOST },
    ],
    ["unless the client sent none", ...(["chat", "strict"] as const), {}, {}],
    ["unless the client sent none", ...(["responses", "strict"] as const), {}, {}],
    [
      "unless the client sent null",
      ...(["chat", "compatible"] as const),
      { max_completion_tokens: null },
      { max_completion_tokens: null },
    ],
    ["unless a stream's client sent none", ...(["chat", "compatible"] as const), STREAM, {}],
    ["if the profile has a default", ...(["chat", "usual"] as const), {}, USUAL],
    ["of a stream, if the profile has a default", ...(["chat", "usual"] as const), STREAM, USUAL],
    [
      "of a stream too",
      ...(["chat", "compatible"] as const),
      { stream: true, max_completion_tokens: 900 },
      { max_tokens: 900 },
    ],
  ];
  for (const [what, protocol, model, given, sent] of rows) {
    t.test(`${what}: ${protocol}, ${model}, ${JSON.stringify(given)}`, async (t) => {
      t.strictSame(await capsOf(protocol, model, given), sent);
    });
  }

  t.test("lowered to what a wallet covers, under the name that the upstream knows", async (t) => {
    const poor = await customerWith(gateway, 20);
    for (const given of [{}, { max_completion_tokens: 3_900 }]) {
      const { max_tokens: sent, ...others } = await capsOf("chat", "compatible", given, poor);
      t.ok(Number(sent) > 0 && Number(sent) < 2_000, String(sent));
      t.strictSame(others, {});
    }
  });

  t.test(
    "that no one has set lets a reply be longer than its hold, which overdraws nothing",
    async (t) => {
      const output_tokens = 2 * MOST;
      // Enough for what is held, for all of the reply, and for neither: a limit goes upstream then.
      for (const [creditVnd, tokens, isWrittenOff] of [
        [42, output_tokens, true],
        [100, output_tokens, false],
        [20, MOST, false],
      ] as const) {
        const caller = await customerWith(gateway, creditVnd);
        const body = bodies.chat({ output_tokens }, { model: "compatible", max_tokens: undefined });
        const { status, text } = await post(gateway, paths.chat, caller, body);
        t.equal(status, 200, text);
        const { available } = await committedWallet(gateway, caller.accountId);
        t.ok(Number(available) >= 0, available);
        const [record] = await usage(gateway, caller.accountId);
        t.ok(Number(record?.["output_tokens"]) <= tokens, String(record?.["output_tokens"]));
        t.equal(Number(record?.["written_off_vnd"]) > 0, isWrittenOff);
      }
    },
  );

  t.test("is what a call holds for, though it states another, smaller one", async (t) => {
    const two = { max_completion_tokens: 1, max_tokens: 1_000 };
    for (const stream of [false, true]) {
      const poor = await customerWith(gateway, 12);
      const plain = bodies.chat({ output_tokens: 20_000 }, { model: "compatible", stream });
      const calls = Array.from({ length: 12 }, () =>
        post(gateway, paths.chat, poor, { ...plain, ...two }),
      );
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      t.ok(statuses.includes(200), statuses.join());
      await committedWallet(gateway, poor.accountId);
      for (const record of await usage(gateway, poor.accountId)) {
        t.equal(record["written_off_vnd"], "0");
        t.ok(Number(record["output_tokens"]) <= 1_000, String(record["output_tokens"]));
      }
    }
  });
});

t.test("a call at a fixed price", async (t) => {
  const models = ["req/strict", "req/claude"];

  t.test("is capped upstream though its client states nothing, streamed or not", async (t) => {
    for (const model of models) {
      const name = model === "req/strict" ? "max_completion_tokens" : "max_tokens";
      for (const stream of [false, true]) {
        t.strictSame(await capsOf("chat", model, { stream }), { [name]: MOST }, model);
      }
    }
  });

  t.test("takes no more input than its price pays for, and costs nothing else", async (t) => {
    const caller = await customerWith(gateway);
    for (const model of models) {
      for (const protocol of ["messages", "chat", "responses"] as const) {
        const prompt = asking({}, "a long story of words ".repeat(300));
        const content = protocol === "responses" ? { input: prompt } : {};
        const messages =
          protocol === "responses" ? {} : { messages: [{ role: "user", content: prompt }] };
        const body = { ...bodies[protocol]({}, { model }), ...content, ...messages };
        const { status, json, text } = await post(gateway, paths[protocol], caller, body);
        t.equal(status, 400, text);
        const { type, message, code } = json.error;
        t.equal(type, "invalid_request_error");
        t.match(message, /^prompt is too long: \d+ tokens > 1000 maximum of req\/\w+; shorten it/);
        if (protocol !== "messages") t.equal(code, "context_length_exceeded");
      }
    }
    await assertNotCharged(gateway, caller);
    const short = bodies.messages({}, { model: "req/claude" });
    t.equal((await post(gateway, paths.messages, caller, short)).status, 200);
  });
});
