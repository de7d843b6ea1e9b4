import t from "tap";
import { billedCalls, customerWith } from "../../support/billed.ts";
import { microVnd } from "../../support/proof.ts";
import { type Answer, bodies, eventsOf, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";
import { directiveOf, type Shape, shapes } from "./shapes.ts";

/** A model of each standard, and its price in µđ a token. */
const MODELS = {
  messages: { model: "claude-opus-5-5", microVnd: 36_000n },
  chat: { model: "gpt-4.1-nano", microVnd: 1_500n },
  responses: { model: "gpt-4.1-nano", microVnd: 1_500n },
} as const;

const OTHER = { messages: "chat", chat: "messages" } as const;

interface Case {
  readonly shape: Shape;
  /** The protocol of the client. */
  readonly client: Shape["protocol"];
}

const cases: Case[] = shapes.flatMap((shape) => {
  const { protocol } = shape;
  const own = { shape, client: protocol };
  return protocol === "responses" ? [own] : [own, { shape, client: OTHER[protocol] }];
});

t.test("usage as providers report it", async (t) => {
  const gateway = await sharedGateway();

  t.test("is charged right, and shown as it is charged", async (t) => {
    const customer = await customerWith(gateway, 10_000_000);
    const answers: Answer[] = [];
    for (const { shape, client } of cases) {
      const { model } = MODELS[shape.protocol];
      const { stream } = shape;
      const asked = client === "chat" && stream && { stream_options: { include_usage: true } };
      const body = bodies[client](directiveOf(shape), { model, stream, ...asked });
      answers.push(await post(gateway, paths[client], customer, body));
    }
    const records = new Map(
      (await billedCalls(gateway, customer, cases.length)).map((record) => [
        record["call_id"],
        record,
      ]),
    );
    for (const [at, { shape, client }] of cases.entries()) {
      const { id, protocol, right, stream } = shape;
      const way = client === protocol ? "in its own protocol" : `to a client of ${client}`;
      t.test(`${id}, ${way}`, async (t) => {
        const answer = answers[at]!;
        const record = records.get(answer.headers.get("x-request-id") ?? "")!;
        const charged = microVnd(record["cost_vnd"]) / MODELS[protocol].microVnd;
        t.equal(Number(charged), right, "charged");
        if (right === 0) return;
        t.equal(answer.status, 200);
        const recorded = Number(record["input_tokens"]) + Number(record["output_tokens"]);
        t.equal(recorded, right, "recorded");
        t.equal(record["estimated"], false);
        if (!stream) t.equal(inHeaders(answer), right, "in headers");
        if (client !== protocol) t.equal(inBody(client, stream, answer), right, "in the body");
      });
    }
  });
});

function inHeaders({ headers }: Answer): number {
  return Number(headers.get("x-svc-input-tokens")) + Number(headers.get("x-svc-output-tokens"));
}

function inBody(client: Shape["protocol"], stream: boolean, { json, text }: Answer): number {
  const usage = stream ? eventsOf(text).findLast((event) => event.usage)?.usage : json.usage;
  if (client === "chat") return usage.prompt_tokens + usage.completion_tokens;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
  const input = input_tokens + cache_read_input_tokens + cache_creation_input_tokens;
  return input + usage.output_tokens;
}
