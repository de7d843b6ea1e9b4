import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t from "tap";
import { type JsonObject, objectOf } from "../../../core/process/json.ts";
import { createCustomer } from "../../support/admin.ts";
import { testModel } from "../../support/catalogue.ts";
import { startGateway } from "../../support/gateway.ts";
import { type LocalServer, startLocalServer } from "../../support/local-server.ts";
import { eventsOf, paths, post } from "../../support/requests.ts";

const ORGANISATIONS = ["first", "second"] as const;

/** Two organisations at a provider of Responses, which read only the reasoning that they gave. */
class Provider {
  /** The input of the latest request of each. */
  readonly inputs: Record<string, JsonObject[]> = {};
  /** The organisation that fails. */
  failing = "";

  start(): Promise<LocalServer> {
    return startLocalServer(async (request, response) => {
      const [, name = ""] = (request.url ?? "").split("/");
      const { input, stream } = JSON.parse(await text(request));
      if (name === this.failing) return response.writeHead(500).end();
      this.inputs[name] = input;
      const item = {
        id: "rs_1",
        type: "reasoning",
        summary: [{ type: "summary_text", text: 'it says "encrypted_content":"' }],
        encrypted_content: stateOf(name),
      };
      const whole = wholeReply(item);
      const type = stream ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type });
      if (!stream) return response.end(JSON.stringify(whole));
      for (const event of [
        { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { ...item, encrypted_content: "" },
        },
        { type: "response.output_item.done", output_index: 0, item },
        {
          type: "response.output_text.delta",
          output_index: 1,
          content_index: 0,
          item_id: "msg_1",
          delta: "yes",
        },
        { type: "response.completed", response: whole },
      ]) {
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      return response.end();
    });
  }

  /** The encrypted reasoning that an organisation has got with the latest request. */
  got(name: string): unknown[] {
    const items = this.inputs[name] ?? [];
    return items
      .filter(({ type }) => type === "reasoning")
      .map((item) => item["encrypted_content"]);
  }
}

const stateOf = (name: string) => `gAAAAA${Buffer.from(name).toString("hex")}`;

function wholeReply(item: object): JsonObject {
  const content = [{ type: "output_text", text: "yes", annotations: [] }];
  const message = { id: "msg_1", type: "message", role: "assistant", status: "completed", content };
  const usage = {
    input_tokens: 30,
    output_tokens: 10,
    total_tokens: 40,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 5 },
  };
  const output = [item, message];
  return { id: "resp_1", object: "response", status: "completed", model: "m", output, usage };
}

t.test("encrypted reasoning returns only to the organisation that gave it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const provider = new Provider();
  const server = await provider.start();
  const routes = ORGANISATIONS.map((organisation, priority) => {
    return { upstream: organisation, model: "m", priority, profile: { organisation } };
  });
  const labels = ["reasoning", "streaming", "tools"];
  const model = testModel("thinker", routes, { standard: "chat", labels });
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, JSON.stringify({ models: [model] }));
  const upstreams = Object.fromEntries(
    ORGANISATIONS.map((name) => [
      name,
      { protocols: { responses: `${server.url}/${name}/v1` }, keys: [`key-of-${name}`] },
    ]),
  );
  const gateway = await startGateway({
    config: { catalogue, upstreams },
    plugins: { alias: { default_family: "any", families: { any: "thinker" } } },
  });
  t.beforeEach(() => {
    provider.failing = "";
  });
  t.teardown(async () => {
    await gateway.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The items of a reply of Responses. */
  async function outputOf(input: unknown, stream: boolean): Promise<JsonObject[]> {
    const customer = await createCustomer(gateway, { creditVnd: 100_000 });
    const answer = await post(gateway, paths.responses, customer, {
      model: "thinker",
      input,
      stream,
    });
    assert.equal(answer.status, 200, answer.text);
    if (!stream) return answer.json.output;
    const events = eventsOf(answer.text);
    const done = events.filter(({ type }) => type === "response.output_item.done");
    const { output } = events.at(-1).response;
    assert.equal(done[0].item.encrypted_content, output[0].encrypted_content);
    assert.equal(output[0].summary[0].text, 'it says "encrypted_content":"');
    return output;
  }

  for (const stream of [false, true]) {
    t.test(`in Responses, streamed: ${stream}`, async (t) => {
      const question = { role: "user", content: "hello" };
      const [reasoning, message] = await outputOf([question], stream);
      assert.ok(reasoning && message);
      t.notMatch(reasoning["encrypted_content"], /first/, "its name is not sent");
      const turns = [question, reasoning, message, { role: "user", content: "go on" }];
      await outputOf(turns, stream);
      t.strictSame(provider.got("first"), [stateOf("first")]);

      provider.failing = "first";
      const [second] = await outputOf(turns, stream);
      t.strictSame(provider.got("second"), []);
      t.equal(provider.inputs["second"]?.length, 3, "the rest of the conversation");
      await outputOf([...turns, second, message, question], stream);
      t.strictSame(provider.got("second"), [stateOf("second")]);

      provider.failing = "";
      await outputOf([...turns, second, message, question], stream);
      t.strictSame(provider.got("first"), [stateOf("first")]);
    });
  }

  t.test("in a compaction, which no other organisation could go on from", async (t) => {
    const [reasoning] = await outputOf([{ role: "user", content: "hello" }], false);
    const compaction = { ...reasoning, id: "cmp_1", type: "compaction" };
    const input = [compaction, { role: "user", content: "go on" }];
    await outputOf(input, false);
    const [first] = provider.inputs["first"] ?? [];
    t.equal(objectOf(first)?.["encrypted_content"], stateOf("first"));
    provider.failing = "first";
    const before = provider.inputs["second"];
    const customer = await createCustomer(gateway, { creditVnd: 100_000 });
    const answer = await post(gateway, paths.responses, customer, { model: "thinker", input });
    t.equal(answer.status, 502, answer.text);
    t.equal(provider.inputs["second"], before);
  });

  t.test("for a client of Messages", async (t) => {
    const customer = await createCustomer(gateway, { creditVnd: 100_000 });
    const ask = async (messages: object[]) => {
      const thinking = { type: "adaptive" };
      const body = { model: "thinker", max_tokens: 500, thinking, messages };
      const answer = await post(gateway, paths.messages, customer, body);
      assert.equal(answer.status, 200, answer.text);
      return { role: "assistant", content: answer.json.content };
    };
    const question = { role: "user", content: "hello" };
    const turns = [question, await ask([question]), question];
    await ask(turns);
    t.strictSame(provider.got("first"), [stateOf("first")]);
    provider.failing = "first";
    await ask(turns);
    t.strictSame(provider.got("second"), []);
  });
});
