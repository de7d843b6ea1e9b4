import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import t from "tap";
import read from "../../../core/body/read-thread.ts";
import { RequestBody, readJson } from "../../../core/body/request-body.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import {
  conversationOf,
  type Place,
  placeOf,
  sessionOf,
} from "../../../core/upstream/conversation.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { createCustomer } from "../../support/admin.ts";
import { newCall } from "../../support/call.ts";
import { testModel } from "../../support/catalogue.ts";
import { startGateway } from "../../support/gateway.ts";
import { type LocalServer, startLocalServer } from "../../support/local-server.ts";
import { assertReconciled, noCallsInFlight } from "../../support/proof.ts";
import { Random } from "../../support/random.ts";
import { paths, post } from "../../support/requests.ts";

const CONVERSATIONS = 40;
const TURNS = 6;
/** Conversations at the same time. */
const AT_ONCE = 20;

t.test("a conversation", async (t) => {
  const random = new Random(3);
  const numbers = Array.from({ length: 20_000 }, () => 1 + random.below(2 ** 32 - 1));
  const place = (name: string, weight = 1, load = 0): Place & { name: string } => {
    return { name, seed: 1 + random.below(2 ** 32 - 1), weight, load };
  };

  t.test("gets a place by weight, and moves only if its place is lost", async (t) => {
    const places = [place("a", 6), place("b", 3), place("c", 1)];
    const before = numbers.map((number) => placeOf(number, places)?.name);
    const share = (name: string) => before.filter((one) => one === name).length / before.length;
    for (const [name, expected] of [
      ["a", 0.6],
      ["b", 0.3],
      ["c", 0.1],
    ] as const) {
      t.ok(Math.abs(share(name) - expected) < 0.02, `${name}: ${share(name)}`);
    }
    const left = places.filter(({ name }) => name !== "b");
    const after = numbers.map((number) => placeOf(number, left)?.name);
    t.ok(before.every((name, at) => name === "b" || name === after[at]));
  });

  t.test("leaves a place that has half more calls than its share", async (t) => {
    const places = [place("a", 1, 31), place("b", 1, 15), place("c", 1, 14)];
    t.notOk(numbers.some((number) => placeOf(number, places)?.name === "a"));
    const few = [place("a", 1, 7), place("b", 1, 0)];
    t.ok(numbers.some((number) => placeOf(number, few)?.name === "a"));
  });
});

/** The number of a Messages or Responses call with this body. */
function numberOf(body: RequestBody, protocol = "messages", headers: Record<string, string> = {}) {
  const call = newCall(endpoints.find((one) => one.protocol === protocol));
  call.body = body;
  call.session = sessionOf(headers, body);
  return conversationOf(call);
}

t.test("is known by its opening, however it grows and wherever its cache marks are", async (t) => {
  const first = `${"ä".repeat(127)}xß😀 and more`;
  const opened = numberOf(RequestBody.of({ messages: [{ role: "user", content: first }] }));
  t.not(opened, 0);
  const marked = { type: "text", text: first, cache_control: { type: "ephemeral" } };
  const grown = [
    { role: "user", content: [marked] },
    { role: "assistant", content: "long ".repeat(200) },
    { role: "user", content: "go on" },
  ];
  const bytes = Buffer.from(JSON.stringify({ model: "m", messages: grown }));
  const here = readJson(Buffer.from(bytes), "messages");
  assert.ok(!isRefusal(here));
  t.equal(numberOf(here), opened);
  const { result } = await read({ protocol: "messages", measures: [] }, Buffer.from(bytes));
  assert.ok(result.parts);
  t.equal(numberOf(RequestBody.from(result.parts)), opened);

  const other = { messages: [{ role: "user", content: "hello" }] };
  t.not(numberOf(RequestBody.of(other)), opened);
  const asItems = { input: [{ role: "developer", content: "rules" }, ...grown] };
  t.equal(
    numberOf(RequestBody.of(asItems), "responses"),
    numberOf(RequestBody.of({ input: first }), "responses"),
  );
  t.equal(numberOf(RequestBody.of({ messages: [] })), 0);
});

t.test("is known by the session that its client names", async (t) => {
  const bodies = ["one", "two"].map((content) =>
    RequestBody.of({ messages: [{ role: "user", content }] }),
  );
  const named = bodies.map((body) => numberOf(body, "messages", { "session-id": "s1" }));
  t.equal(named[0], named[1]);
  t.not(named[0], numberOf(RequestBody.of({}), "messages", { "session-id": "s2" }));
  const claude = { metadata: { user_id: '{"device_id":"d","session_id":"s1"}' } };
  t.not(numberOf(RequestBody.of(claude)), 0);
  t.equal(numberOf(RequestBody.of({ metadata: { user_id: "a-user" } })), 0);
  t.not(numberOf(RequestBody.of({ prompt_cache_key: "k" }), "chat"), 0);
});

t.test("finds the provider's cache of its prompt with three keys and two routes", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const provider = new CachingProvider();
  const server = await provider.start();
  t.teardown(() => server.stop());
  const route = (upstream: string) => ({ upstream, model: upstream });
  const models = [
    testModel("one", [route("alone")]),
    testModel("many", [route("left"), route("right")]),
  ];
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, JSON.stringify({ models }));
  const upstream = (...keys: string[]) => ({ protocols: { messages: server.url }, keys });
  const gateway = await startGateway({
    config: {
      catalogue,
      upstreams: {
        alone: upstream("key-alone"),
        left: upstream("key-left-1", "key-left-2", "key-left-3"),
        right: upstream("key-right-1", "key-right-2", "key-right-3"),
      },
    },
    plugins: { alias: { default_family: "any", families: { any: "one" } } },
  });
  t.teardown(() => gateway.close());

  /** Holds all conversations with a model; returns the characters that the caches had. */
  async function hitsOf(model: string): Promise<number> {
    const customer = await createCustomer(gateway, { creditVnd: 1_000_000 });
    const before = provider.hits;
    const waiting = Array.from({ length: CONVERSATIONS }, (_, at) => `conversation ${at}`);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          for (let turns = 1; turns <= TURNS; turns++) {
            const body = { model, max_tokens: 100, messages: turnsOf(name, turns) };
            const answer = await post(gateway, paths.messages, customer, body);
            assert.equal(answer.status, 200, answer.text);
          }
        }
      }),
    );
    return provider.hits - before;
  }

  t.test("as often as with one key, nearly", async (t) => {
    const one = await hitsOf("one");
    const many = await hitsOf("many");
    t.ok(many >= 0.95 * one, `${many} of ${one}`);
    t.equal(provider.usedKeys.size, 7, "every key serves some");
    await noCallsInFlight(gateway);
    await assertReconciled(gateway);
  });
});

/** 30 tokens of input, 10 of output. */
const MESSAGES_REPLY = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "yes" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 30, output_tokens: 10 },
};

/** A conversation of so many turns of its user, with a cache mark on the last one. */
function turnsOf(name: string, turns: number): object[] {
  return Array.from({ length: 2 * turns - 1 }, (_, at) => {
    const text = `${name}, turn ${at}: ${"word ".repeat(20)}`;
    const isLast = at === 2 * turns - 2;
    const mark = isLast && { cache_control: { type: "ephemeral" } };
    return {
      role: at % 2 === 0 ? "user" : "assistant",
      content: [{ type: "text", text, ...mark }],
    };
  });
}

interface Turn {
  readonly content: readonly { readonly text: string }[];
}

/** A provider whose prompt cache belongs to the key. */
class CachingProvider {
  /** Characters of prompts that its caches had. */
  hits = 0;
  readonly usedKeys = new Set<string>();
  private readonly cached = new Set<string>();

  start(): Promise<LocalServer> {
    return startLocalServer(async (request, response) => {
      const { messages } = (await json(request)) as { messages: readonly Turn[] };
      this.take(String(request.headers["x-api-key"]), messages);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(MESSAGES_REPLY));
    });
  }

  private take(key: string, messages: readonly Turn[]): void {
    this.usedKeys.add(key);
    let prefix = key;
    let hit = 0;
    for (const { content } of messages) {
      prefix += content[0]?.text;
      if (this.cached.has(prefix)) hit = prefix.length;
      this.cached.add(prefix);
    }
    this.hits += hit === 0 ? 0 : hit - key.length;
  }
}
