import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { type Customer, createCustomer } from "../../support/admin.ts";
import { billedCalls } from "../../support/billed.ts";
import { testModel } from "../../support/catalogue.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import {
  compile,
  MODULE,
  OutsideFolder,
  readmeBlock,
  TEAM,
  TSCONFIG,
  typedTeam,
  VENDOR,
} from "../../support/outside.ts";
import { type Answer, asking, bodies, eventsOf, paths, post } from "../../support/requests.ts";
import { startTestSimulator } from "../../support/simulator.ts";

const BALANCE = readmeBlock("js", "// balance.js");
/** Pushes a header in each hook. */
const HOOKS = `
const push = (call, hook) => void call.replyHeaders.push("x-" + hook, "1");
export default () => ({
  name: "hooks",
  admit: (call) => push(call, "admit"),
  request: (call) => push(call, "request"),
  stream: (call, client) => ({
    head(status, headers) {
      push(call, "head");
      client.head(status, headers);
    },
    event: (event) => client.event(event),
    data: (bytes) => client.data(bytes),
    end: (outcome) => client.end(outcome),
  }),
  close: (call) => push(call, "close"),
});
`;
const COMPLETIONS = readmeBlock("js", "// completions.js");
const runsTypeScript = Boolean(Reflect.get(process.features, "typescript"));

t.test("the README's plugin, outside of the repository", async (t) => {
  const folder = new OutsideFolder();
  t.teardown(() => folder.remove());
  const simulator = await startTestSimulator();
  t.teardown(() => simulator.stop());

  /** Starts a gateway with the plugin, and calls it with and without the header. */
  async function serves(plugin: string): Promise<void> {
    const plugins = { [plugin]: { header: "x-team-name" } };
    const gateway = await startGateway({ simulator, plugins });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 1000 });
      const refused = await call(gateway, customer, {});
      assert.deepEqual(
        [refused.status, refused.json.error.message],
        [400, "the header x-team-name is required"],
      );
      const served = await call(gateway, customer, { "x-team-name": "blue" });
      assert.deepEqual([served.status, served.headers.get("x-team")], [200, "blue"]);
      await gateway.stop();
      assert.match(gateway.logs, /"calls":\{"blue":1\},"msg":"calls by team"/);
      assert.doesNotMatch(gateway.logs, /Warning/);
    } finally {
      await gateway.close();
    }
  }

  t.test("runs unchanged, with no other file", async () => {
    await serves(folder.write("plain/team.js", TEAM));
  });

  t.test("compiles with the README's tsconfig.json, and runs", async (t) => {
    folder.write("typed/package.json", MODULE);
    folder.write("typed/tsconfig.json", TSCONFIG);
    folder.write("typed/team.ts", typedTeam());
    t.equal(await compile(join(folder.path, "typed")), "");
    await serves(join(folder.path, "typed", "team.js"));
  });

  t.test("runs as TypeScript without a compiler, if this Node can", async (t) => {
    folder.write("direct/package.json", MODULE);
    const plugin = folder.write("direct/team.ts", typedTeam());
    const start = serves(plugin);
    if (runsTypeScript) await start;
    else await t.rejects(start, /this Node does not run TypeScript; compile/);
  });

  t.test("adds headers to the reply until its head is sent, and reads a balance", async (t) => {
    folder.write("headers/package.json", MODULE);
    const balance = folder.write("headers/balance.js", BALANCE);
    const plugin = folder.write("headers/hooks.js", HOOKS);
    const gateway = await startGateway({ simulator, plugins: { [balance]: true, [plugin]: true } });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 100_000 });
      const directive = { output_tokens: 1 };
      for (const [path, body, hooks] of [
        [paths.messages, bodies.messages(directive), ["admit", "request", "head", "close"]],
        [
          paths.messages,
          bodies.messages(directive, { stream: true }),
          ["admit", "request", "head"],
        ],
      ] as const) {
        const { status, headers } = await post(gateway, path, customer, body);
        t.equal(status, 200);
        t.match(headers.get("x-balance-vnd"), /^\d+(\.\d+)?$/);
        const seen = ["admit", "request", "head", "close"].filter((hook) =>
          headers.has(`x-${hook}`),
        );
        t.strictSame(seen, hooks, path);
      }
    } finally {
      await gateway.close();
    }
  });

  t.test("brings a protocol of clients, with prices, errors and translation", async (t) => {
    folder.write("protocol/package.json", MODULE);
    const plugin = folder.write("protocol/completions.js", COMPLETIONS);
    const plugins = ["auth", plugin, "alias", "translate", "meter", "settle", "admin"];
    const gateway = await startGateway({ simulator, config: { plugins } });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 1000 });
      const prompt = asking({ text: "one two", input_tokens: 10, output_tokens: 5 });
      const path = "/v1/completions";
      for (const model of ["gpt-4.1-nano", "claude-opus-5-5"]) {
        const whole = await post(gateway, path, customer, { model, prompt });
        t.equal(whole.status, 200, whole.text);
        t.match(whole.json, { object: "text_completion", choices: [{ text: "one two" }] });
        const streamed = await post(gateway, path, customer, { model, prompt, stream: true });
        const texts = eventsOf(streamed.text).map((event) => event.choices?.[0]?.text ?? "");
        t.equal(texts.join(""), "one two");
        t.match(streamed.text, /data: \[DONE\]\n\n$/);
      }
      const calls = await billedCalls(gateway, customer, 4);
      t.ok(calls.every((call) => Number(call["cost_vnd"]) > 0 && call["endpoint"] === path));
      const refused = await post(gateway, path, customer, { model: "gpt-4.1-nano" });
      t.strictSame([refused.status, refused.json.error.param], [400, "prompt"]);
    } finally {
      await gateway.close();
    }
  });

  t.test("brings a kind of upstream, which the config names", async (t) => {
    const provider = await startSigningProvider("the-secret");
    const plugin = folder.write("kind/vendor.js", VENDOR);
    const entry = testModel("vendor-model", [{ upstream: "far", model: "far-1" }]);
    const catalogue = folder.write("kind/catalogue.yaml", JSON.stringify({ models: [entry] }));
    const alias = { default_family: "all", families: { all: "vendor-model" } };
    const far = { kind: "vendor", address: provider.url, secret: "the-secret" };
    const gateway = await startGateway({
      simulator,
      config: { catalogue, upstreams: { far } },
      plugins: { [plugin]: true, alias },
    });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 1000 });
      for (const stream of [false, true]) {
        const body = bodies.messages({}, { model: "vendor-model", stream });
        const served = await post(gateway, paths.messages, customer, body);
        t.equal(served.status, 200, served.text);
        t.match(served.text, /signed and served/);
      }
      t.strictSame(provider.models, ["far-1", "far-1"]);
      const calls = await billedCalls(gateway, customer, 2);
      t.strictSame(
        calls.map((call) => call["cost_vnd"]),
        ["0.4", "0.4"],
      );
    } finally {
      await gateway.close();
      await provider.stop();
    }
  });
});

function call(
  gateway: TestGateway,
  customer: Customer,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  return post(gateway, paths.messages, customer, bodies.messages({ output_tokens: 1 }), headers);
}

/** Starts a provider as the README's kind speaks to it. Each reply costs 40 tokens. */
async function startSigningProvider(secret: string) {
  const models: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { "x-date": date, "x-signature": given, "content-type": type } = request.headers;
    const { url = "" } = request;
    const wanted = createHmac("sha256", secret)
      .update(`${date} ${url} `)
      .update(body)
      .digest("hex");
    if (given !== wanted || type !== "application/json") return response.writeHead(403).end("{}");
    models.push(/^\/models\/([^/]+)\/invoke$/.exec(url)?.[1] ?? url);
    const isStream = JSON.parse(String(body)).stream === true;
    response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
    return response.end(isStream ? REPLY_EVENTS : JSON.stringify(REPLY));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    models,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const TEXT = { type: "text", text: "signed and served" };
const REPLY = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "far-1", content: [TEXT] },
  ...{ stop_reason: "end_turn", stop_sequence: null },
  usage: { input_tokens: 30, output_tokens: 10 },
};
const REPLY_EVENTS = [
  { type: "message_start", message: { ...REPLY, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT.text } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } },
  { type: "message_stop" },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");
