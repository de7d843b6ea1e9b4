import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import t from "tap";
import { parse } from "yaml";
import { customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { RawClient } from "../support/raw-client.ts";
import { get } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

interface Entry {
  readonly id: string;
  readonly price_vnd_per_mtok?: number;
  readonly price_vnd_per_call?: number;
  readonly channel?: string;
  readonly context_window?: number;
  readonly input_tokens_max?: number;
  readonly max_output_tokens?: number;
  readonly labels?: readonly string[];
  readonly standard: string;
}

/** The shipped catalogue's entry for each model. */
const file = readFileSync(SHIPPED_CATALOGUE, "utf8");
const catalogue: readonly Entry[] = parse(file, { merge: true }).models;

const VERSIONED = { "anthropic-version": "2023-06-01" };

/** In the shipped config every upstream speaks all protocols. */
const CHAT = ["/v1/messages", "/v1/chat/completions", "/v1/responses"];
const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
  messages: CHAT,
  chat: CHAT,
  images: ["/v1/images/generations", "/v1/images/edits"],
  speech: ["/v1/audio/speech"],
};

/** The fields of a model in both shapes, apart from its name. */
function extras(entry: Entry): object {
  const isImages = entry.standard === "images";
  return {
    context_window: entry.context_window ?? null,
    max_input_tokens: entry.input_tokens_max ?? null,
    max_output_tokens: entry.max_output_tokens ?? null,
    channel: entry.channel === "aws" ? "AWS" : "standard",
    labels: entry.labels ?? [],
    api_standard: entry.standard,
    endpoints: ENDPOINTS[entry.standard],
    pricing: {
      currency: "VND",
      vnd_per_mtok: entry.price_vnd_per_mtok ?? null,
      vnd_per_call: entry.price_vnd_per_call ?? null,
      vnd_per_image: isImages ? entry.price_vnd_per_call : null,
    },
  };
}

t.test("GET /v1/models", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });
  const customer = await customerWith(gateway, "0.000001");
  // biome-ignore lint/suspicious/noExplicitAny: the answer is compared field by field
  const list = async (headers = {}, query = ""): Promise<any> => {
    const answer = await get(gateway, `/v1/models${query}`, customer, headers);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/json");
    return answer.json;
  };

  t.test("lists all 102 models with limits, labels and prices in the OpenAI shape", async (t) => {
    const { object, data } = await list();
    t.equal(object, "list");
    t.equal(data.length, 102);
    for (const [at, entry] of catalogue.entries()) {
      const { created, owned_by, ...rest } = data[at];
      t.strictSame(rest, { id: entry.id, object: "model", ...extras(entry) });
      t.ok(Number.isInteger(created));
      t.equal(typeof owned_by, "string");
    }
  });

  t.test("has an empty list for Codex, which then keeps the models that it brings", async (t) => {
    const { data, models } = await list({}, "?client_version=0.150.0");
    t.strictSame([data.length, models], [102, []]);
    t.notOk("models" in (await list()));
  });

  t.test(
    "lists them in the Messages shape to a client that sends its version header",
    async (t) => {
      const answer = await list(VERSIONED);
      t.equal(answer.has_more, false);
      t.equal(answer.first_id, catalogue[0]?.id);
      t.equal(answer.last_id, catalogue.at(-1)?.id);
      t.equal(answer.data.length, 102);
      for (const [at, entry] of catalogue.entries()) {
        const { created_at, display_name, ...rest } = answer.data[at];
        t.strictSame(rest, { id: entry.id, type: "model", ...extras(entry) });
        t.ok(!Number.isNaN(Date.parse(created_at)));
        t.equal(typeof display_name, "string");
      }
    },
  );

  t.test("pages in the Messages shape, without gaps or repetitions", async (t) => {
    const ids: string[] = [];
    let after = "";
    for (let more = true; more; ) {
      const page = await list(VERSIONED, `?limit=25${after}`);
      ids.push(...page.data.map((model: Entry) => model.id));
      more = page.has_more;
      after = `&after_id=${encodeURIComponent(page.last_id)}`;
    }
    t.strictSame(
      ids,
      catalogue.map(({ id }) => id),
    );
  });

  t.test(
    "has the models that the specification counts: 23 on the AWS channel, 38 per call, 64 per token",
    async (t) => {
      const { data } = await list();
      const count = (holds: (model: ReturnType<typeof JSON.parse>) => boolean) =>
        data.filter(holds).length;
      t.equal(
        count((model) => model.channel === "AWS"),
        23,
      );
      t.equal(
        count((model) => model.id.startsWith("svc/")),
        23,
      );
      t.equal(
        count((model) => model.id.startsWith("req/")),
        38,
      );
      t.equal(
        count((model) => model.pricing.vnd_per_mtok !== null),
        64,
      );
      const windows = new Set(data.map((model: Entry) => model.context_window));
      for (const tokens of [1_000_000, 200_000, 256_000, 196_000, 500_000, 1_050_000, null]) {
        t.ok(windows.has(tokens), `${tokens}`);
      }
    },
  );

  t.test("limits of the top family: 1,000,000 tokens of context, 128,000 of output", async (t) => {
    const { data } = await list();
    const top = data.find((model: Entry) => model.id === "claude-opus-5-5");
    t.equal(top.context_window, 1_000_000);
    t.equal(top.max_output_tokens, 128_000);
  });

  t.test(
    "returns one model by its id, with its slash plain or encoded, and 404 for an unknown one",
    async (t) => {
      for (const entry of catalogue) {
        for (const id of [entry.id, encodeURIComponent(entry.id)]) {
          const answer = await get(gateway, `/v1/models/${id}`, customer);
          t.equal(answer.json.id, entry.id);
          t.strictSame(answer.json.pricing, Object(extras(entry)).pricing);
        }
      }
      const chat = await get(gateway, "/v1/models/none", customer);
      t.equal(chat.status, 404);
      t.equal(chat.json.error.type, "not_found_error");
      const messages = await get(gateway, "/v1/models/none", customer, VERSIONED);
      t.equal(messages.status, 404);
      t.equal(messages.json.type, "error");
      t.equal(messages.json.error.type, "not_found_error");
    },
  );

  t.test("lists ids that calls accept, with the prices that calls pay", async (t) => {
    const rich = await customerWith(gateway);
    const { data } = await list();
    for (const { id, api_standard, pricing } of data) {
      if (api_standard !== "messages" && api_standard !== "chat") continue;
      const isMessages = api_standard === "messages";
      const response = await fetch(
        `${gateway.url}${isMessages ? "/v1/messages" : "/v1/chat/completions"}`,
        {
          method: "POST",
          headers: { authorization: `Bearer ${rich.key}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: id,
            max_tokens: 8,
            messages: [
              { role: "user", content: '[[sim {"input_tokens":1000,"output_tokens":0}]]' },
            ],
          }),
        },
      );
      await response.arrayBuffer();
      t.equal(response.headers.get("x-svc-model"), id);
      t.equal(response.headers.get("x-svc-model-mapped-from"), null);
      const price = pricing.vnd_per_mtok;
      const cost = price === null ? pricing.vnd_per_call : price / 1000;
      t.equal(response.headers.get("x-svc-cost-vnd"), String(cost), id);
    }
  });

  t.test("ignores a body, which some clients send", async (t) => {
    const client = await RawClient.open(gateway.port);
    try {
      const head = `host: gateway\r\nauthorization: Bearer ${customer.key}\r\n`;
      const sent = async (body: string) => {
        const length = `content-length: ${body.length}\r\n`;
        await client.send(`GET /v1/models HTTP/1.1\r\n${head}${length}\r\n${body}`);
        return (await client.response()).status;
      };
      t.strictSame([await sent("{}"), await sent("x".repeat(5_000))], [200, 200]);
      t.equal(await sent("x".repeat(70_000)), 413);
    } finally {
      client.destroy();
    }
  });
});
