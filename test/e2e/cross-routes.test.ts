import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { stringify } from "yaml";
import { billedCall, customerWith } from "../support/billed.ts";
import { type Echo, echoIn } from "../support/echo.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, eventsOf, paths, post } from "../support/requests.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";

const LONG_NAME = `mcp__${"files_".repeat(12)}read`;
const STRICT = { dialect: "openai", forced_tools: "refuse" };
const LOOSE = { dialect: "compatible", tool_name_max: 128, top_k: true };

/**
 * Models whose first upstream is over its rate limit; `broken` fails, and its circuit breaker
 * opens.
 */
const MODELS = {
  "strict-then-loose": { standard: "chat", profiles: [STRICT, LOOSE], first: "limited" },
  "loose-then-strict": { standard: "chat", profiles: [LOOSE, STRICT], first: "limited" },
  "broken-then-loose": { standard: "chat", profiles: [STRICT, LOOSE], first: "broken" },
  "responses-alone": { standard: "chat", profiles: [{ reasoning: "none" }], first: "modern" },
  "adaptive-then-budget": {
    standard: "messages",
    profiles: [{}, { thinking: "budget", max_output_tokens: 9000 }],
    first: "limited",
  },
} as const;
type ModelId = keyof typeof MODELS;

const CATALOGUE = {
  models: Object.entries(MODELS).map(([id, { standard, profiles, first }]) => ({
    id,
    price_vnd_per_mtok: 10_000,
    context_window: 200_000,
    max_output_tokens: 50_000,
    labels: ["reasoning", "vision", "tools", "streaming"],
    standard,
    routes: profiles.map((profile, at) => ({
      upstream: at === 0 ? first : "sound",
      model: `upstream-${at}`,
      priority: at,
      profile,
    })),
  })),
};

t.test("a model whose routes support different fields", async (t) => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.before(async () => {
    simulator = await startTestSimulator();
    const catalogue = join(folder, "catalogue.yaml");
    writeFileSync(catalogue, stringify(CATALOGUE, { aliasDuplicateObjects: false }));
    const upstream = (key: string) => ({
      protocols: { messages: simulator.url, chat: `${simulator.url}/v1` },
      keys: [key],
    });
    gateway = await startGateway({
      simulator,
      config: {
        catalogue,
        upstreams: {
          limited: upstream('sim:{"status":429,"retry_after":0}'),
          broken: upstream('sim:{"status":503}'),
          sound: upstream("sound"),
          modern: { protocols: { responses: `${simulator.url}/v1` }, keys: ["modern"] },
        },
      },
      plugins: {
        alias: { default_family: "opus", families: { opus: "adaptive-then-budget" } },
      },
    });
  });
  t.teardown(async () => {
    await gateway.close();
    await simulator.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const bodyOf = (model: ModelId, directive: Directive, more: object) => ({
    model,
    max_tokens: 4096,
    messages: [{ role: "user", content: asking(directive) }],
    ...more,
  });
  const tools = [{ name: LONG_NAME, input_schema: { type: "object" } }];

  async function ask(path: string, body: object, creditVnd?: string) {
    const customer = await customerWith(gateway, creditVnd);
    const answer = await post(gateway, path, customer, body);
    return { customer, answer };
  }

  /** The request that the second route received after the first had failed. */
  async function second(path: string, body: object, creditVnd?: string): Promise<Echo> {
    const upstream = path === paths.messages ? paths.chat : paths.messages;
    const failed = async () => (await simulator.stats())[upstream]?.["failed"] ?? 0;
    const before = await failed();
    const { answer, customer } = await ask(path, body, creditVnd);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await failed(), before + 1);
    assert.equal((await billedCall(gateway, customer))["upstream"], "sound");
    const { json } = answer;
    const echo = echoIn(json.content?.[0]?.text ?? json.choices[0].message.content);
    assert.equal(echo.body.model, "upstream-1");
    return echo;
  }

  t.test("and no route for Chat: clients of all protocols go by Responses", async (t) => {
    const model = "responses-alone";
    const chat = { temperature: 0.3, max_completion_tokens: 99 };
    for (const [path, body] of [
      [paths.messages, bodyOf(model, { echo: true }, { temperature: 0.3 })],
      [paths.chat, { ...bodyOf(model, { echo: true }, chat), max_tokens: undefined }],
    ] as const) {
      const { answer, customer } = await ask(path, body);
      t.equal(answer.status, 200, answer.text);
      const { json } = answer;
      const echo = echoIn(json.content?.[0]?.text ?? json.choices[0].message.content);
      t.match(echo, { path: "/v1/responses", body: { temperature: 0.3, store: false } });
      t.equal(echo.body.include, undefined, "a model that does not reason refuses this");
      await billedCall(gateway, customer);
    }
    const stopped = bodyOf(model, { text: "one two" }, { stop_sequences: [" "] });
    const { answer } = await ask(paths.messages, stopped);
    t.equal(answer.status, 200, answer.text);
    t.match(answer.json, { content: [{ text: "one" }], stop_reason: "stop_sequence" });
    const native = await ask(paths.responses, { model, input: asking({ text: "ok" }) });
    t.equal(native.answer.status, 200);
  });

  t.test("is called in the second route's dialect if the first fails", async (t) => {
    const more = { tools, top_k: 5 };
    const loose = await second(paths.messages, bodyOf("strict-then-loose", { echo: true }, more));
    t.equal(loose.body.max_tokens, 4096);
    t.equal(loose.body.max_completion_tokens, undefined);
    t.equal(loose.body.tools[0].function.name, LONG_NAME);
    t.equal(loose.body.top_k, 5);
    const strict = await second(paths.messages, bodyOf("loose-then-strict", { echo: true }, more));
    t.equal(strict.body.max_completion_tokens, 4096);
    t.equal(strict.body.max_tokens, undefined);
    t.match(strict.body.tools[0].function.name, /^.{64}$/);
    t.equal(strict.body.top_k, undefined);
    const broken = await second(paths.messages, bodyOf("broken-then-loose", { echo: true }, {}));
    t.equal(broken.body.max_tokens, 4096);
  });

  t.test("reports the fields left out for the route that replied", async (t) => {
    for (const [model, dropped] of [
      ["strict-then-loose", null],
      ["loose-then-strict", "top_k"],
    ] as const) {
      const { answer } = await ask(paths.messages, bodyOf(model, { text: "ok" }, { top_k: 5 }));
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("x-svc-translate-dropped"), dropped, model);
    }
  });

  t.test("replies with the names of the client, unstreamed and streamed", async (t) => {
    const { body } = await second(
      paths.messages,
      bodyOf("loose-then-strict", { echo: true }, { tools }),
    );
    const name: string = body.tools[0].function.name;
    t.not(name, LONG_NAME);
    const called = bodyOf("loose-then-strict", { tools: [{ name }] }, { tools });
    const { answer: whole } = await ask(paths.messages, called);
    t.equal(whole.json.content[0].name, LONG_NAME);
    const { answer: streamed } = await ask(paths.messages, { ...called, stream: true });
    const [start] = eventsOf(streamed.text).filter(({ type }) => type === "content_block_start");
    t.equal(start.content_block.name, LONG_NAME);
  });

  t.test("requests thinking in the second route's terms", async (t) => {
    const { body } = await second(
      paths.chat,
      bodyOf("adaptive-then-budget", { echo: true }, { reasoning_effort: "low" }),
    );
    t.strictSame(body.thinking, { type: "enabled", budget_tokens: 2048 });
    t.equal(body.output_config, undefined);
  });

  t.test("is limited to what the wallet affords, in either route's terms", async (t) => {
    // 10,000 đ per million tokens: 20 đ are 2,000 tokens in and out.
    for (const [path, model, field] of [
      [paths.messages, "strict-then-loose", "max_tokens"],
      [paths.messages, "loose-then-strict", "max_completion_tokens"],
      [paths.chat, "adaptive-then-budget", "max_tokens"],
    ] as const) {
      const { body } = await second(path, bodyOf(model, { echo: true }, {}), "20");
      t.ok(body[field] > 1800 && body[field] < 2000, `${model}: ${body[field]}`);
    }
    const thinking = bodyOf("adaptive-then-budget", { echo: true }, { reasoning_effort: "medium" });
    const { body } = await second(paths.chat, { ...thinking, max_tokens: 8000 }, "30");
    t.ok(body.max_tokens < 3000, String(body.max_tokens));
    t.equal(body.thinking.budget_tokens, body.max_tokens - 1);
  });

  t.test("is called only on routes that can express the request", async (t) => {
    const forced = { tools, tool_choice: { type: "any" } };
    for (const model of ["strict-then-loose", "loose-then-strict"] as const) {
      const body = bodyOf(model, { text: "zz" }, forced);
      const { answer, customer } = await ask(paths.messages, body);
      if (model === "strict-then-loose") {
        t.equal(answer.status, 200, answer.text);
        t.equal((await billedCall(gateway, customer))["upstream"], "sound");
      } else {
        // Only the rate-limited route supports the request, so the client gets its reply.
        t.equal(answer.status, 429, answer.text);
        t.equal(answer.json.error.type, "rate_limit_error");
        t.equal(answer.headers.get("retry-after"), "0");
      }
    }
  });

  t.test("refuses a request that none of its routes can express, naming the field", async (t) => {
    const body = bodyOf("strict-then-loose", {}, { container: "c" });
    const { answer } = await ask(paths.messages, body);
    t.equal(answer.status, 400);
    t.match(answer.json.error.message, /container/);
  });
});
