import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import { usage, wallet } from "../support/admin.ts";
import { customerWith } from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { startGateway } from "../support/gateway.ts";
import { get, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages/count_tokens";
const UNCHATTY = new Set(["req/gpt-image-2", "req/gpt-4o-mini-tts"]);
const TURN = { role: "user" as const, content: "How many tokens are in this sentence?" };

t.test("POST /v1/messages/count_tokens", async (t) => {
  const gateway = await sharedGateway({ catalogue: wholeCatalogueOfTests() });
  // Too little for any call.
  const customer = await customerWith(gateway, "0.000001");

  const count = (body: unknown, headers?: Record<string, string>) =>
    post(gateway, PATH, customer, body, headers);

  t.test("returns the same for every chat model, asks no provider and costs nothing", async (t) => {
    const before = await gateway.simulator.stats();
    const { json: models } = await get(gateway, "/v1/models", customer);
    const ids = models.data.map(({ id }: { id: string }) => id);
    t.ok(ids.length > 90);
    for (const model of ids) {
      const { status, json, headers } = await count({ model, messages: [TURN] });
      if (UNCHATTY.has(model)) {
        t.equal(status, 400, model);
        continue;
      }
      t.equal(status, 200, model);
      // Eight of the text, three of the request, four of the turn.
      t.strictSame(json, { input_tokens: 15 }, model);
      t.equal(headers.get("x-svc-model"), model);
      t.equal(headers.get("x-svc-model-mapped-from"), null);
    }
    t.strictSame(await gateway.simulator.stats(), before);
    t.strictSame(await usage(gateway, customer.accountId), []);
    t.equal((await wallet(gateway, customer.accountId)).balance, "0.000001");
  });

  t.test("resolves model names like a call", async (t) => {
    for (const model of ["opus", "no-such-model", "claude-3-haiku", "req/gpt-image-2", "", 5]) {
      const call = await post(gateway, "/v1/messages", customer, {
        model,
        max_tokens: 1,
        messages: [TURN],
      });
      const counted = await count({ model, messages: [TURN] });
      // The wallet pays for no call, which is the one difference.
      t.equal(counted.status, call.status === 402 ? 200 : call.status, String(model));
      if (counted.status !== 200) {
        t.equal(counted.json.error.message, call.json.error.message);
        continue;
      }
      t.equal(counted.headers.get("x-svc-model"), "claude-opus-5-5");
      t.equal(counted.headers.get("x-svc-model-mapped-from"), model);
    }
  });

  t.test("refuses the unknown names that calls refuse", async (t) => {
    const strict = await startGateway({
      simulator: gateway.simulator,
      plugins: { alias: { unknown: "refuse" } },
    });
    try {
      const caller = await customerWith(strict);
      const unknown = { model: "no-such-model", messages: [TURN] };
      const { status, json } = await post(strict, PATH, caller, unknown);
      t.equal(status, 404);
      t.equal(json.error.type, "not_found_error");
    } finally {
      await strict.close();
    }
  });

  t.test("works with Anthropic's client, for models of either protocol", async (t) => {
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: customer.key, maxRetries: 0 });
    const data = makePng(4, 4, 0xff0000).toString("base64");
    // Beside the words: the tool and the prompt for tools, and a tile of an image.
    for (const [model, least, most] of [
      ["claude-opus-5-5", 300, 345],
      ["gpt-4.1-nano", 50, 110],
    ] as const) {
      const words = await anthropic.messages.countTokens({ model, messages: [TURN] });
      const more = await anthropic.messages.countTokens({
        model,
        system: "Be brief.",
        tools: [{ name: "clock", input_schema: { type: "object" } }],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: TURN.content },
              { type: "image", source: { type: "base64", media_type: "image/png", data } },
            ],
          },
        ],
      });
      const added = more.input_tokens - words.input_tokens;
      t.ok(added > least && added < most, `${model}: ${added}`);
    }
  });

  t.test("refuses in its protocol's shape", async (t) => {
    for (const [body, words] of [
      ["no json", /JSON/],
      ["[]", /JSON object/],
      [{ model: "claude-opus-5-5" }, /^messages:/],
      [{ model: "claude-opus-5-5", messages: [] }, /^messages:/],
    ] as const) {
      const { status, json } = await count(body);
      t.equal(status, 400, JSON.stringify(json));
      t.equal(json.type, "error");
      t.equal(json.error.type, "invalid_request_error");
      t.match(json.error.message, words);
      t.match(json.request_id, /./);
    }
    const keyless = await post(gateway, PATH, undefined, { messages: [TURN] });
    t.equal(keyless.status, 401);
    t.equal(keyless.json.type, "error");
    t.equal(keyless.json.error.type, "authentication_error");
  });

  t.test("lets other requests pass while it counts ten megabytes", async (t) => {
    const content = "The toll road was older than the town. ".repeat(270_000);
    /** Counts once, and returns how many other requests were served. */
    async function servedBeside(): Promise<number> {
      let counting = true;
      const counted = count({ model: "gpt-4.1-nano", messages: [{ role: "user", content }] });
      const over = counted.finally(() => {
        counting = false;
      });
      let served = 0;
      while (counting) {
        t.equal((await get(gateway, "/v1/models", customer)).status, 200);
        served++;
      }
      const { status, json } = await over;
      t.equal(status, 200);
      // Nine tokens a sentence; beyond the first million characters they are extrapolated.
      t.ok(Math.abs(json.input_tokens / (9 * 270_000) - 1) < 0.05, String(json.input_tokens));
      return served;
    }
    // A busy machine may serve only two or three beside one.
    await until("other requests are served", async () => (await servedBeside()) > 3);
  });
});
