import t, { type Test } from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import { billedCalls, customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { type ChatProtocol, resultTurns, streamedTurn } from "../support/streamed-turn.ts";

const TURNS = 30;
/** A model serves this many turns, and then the next family's does. */
const TURNS_OF_MODEL = 3;

/** A model of every family. */
const FAMILIES = [
  ...["claude-opus-5-5", "gpt-5.6-sol", "deepseek-v4-pro", "gemini-3.5-flash", "MiniMax-M3"],
  ...["kimi-k2.6", "glm-5.2", "grok-4.5", "qwen3.7-max", "svc/mistral-large-3-675b"],
];

const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const NAMES = ["read", "list"];
const TOOLS: Readonly<Record<ChatProtocol, readonly object[]>> = {
  messages: NAMES.map((name) => ({ name, input_schema: SCHEMA })),
  chat: NAMES.map((name) => ({ type: "function", function: { name, parameters: SCHEMA } })),
  responses: NAMES.map((name) => ({ type: "function", name, parameters: SCHEMA })),
};
/** Those of the above that cannot read images: a tool may return one to them, but the user must not show one. */
const BLIND = ["deepseek-v4-pro", "glm-5.2", "qwen3.7-max"];

const png = makePng(16, 16, 7).toString("base64");
const url = `data:image/png;base64,${png}`;

/** Returns a message of the user, with an image if the model can read one. */
function said(protocol: ChatProtocol, text: string, model: string): object {
  const picture = {
    messages: { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    chat: { type: "image_url", image_url: { url } },
    responses: { type: "input_image", detail: "auto", image_url: url },
  }[protocol];
  const words = { type: protocol === "responses" ? "input_text" : "text", text };
  return { role: "user", content: BLIND.includes(model) ? [words] : [words, picture] };
}

/** The result of a tool: a screenshot, in the protocols that have images there. */
function result(protocol: ChatProtocol): unknown {
  if (protocol === "chat") return "a screenshot";
  const text = "a screenshot";
  if (protocol === "responses") {
    return [
      { type: "input_text", text },
      { type: "input_image", detail: "auto", image_url: url },
    ];
  }
  const source = { type: "base64", media_type: "image/png", data: png };
  return [
    { type: "text", text },
    { type: "image", source },
  ];
}

const FIELDS: Readonly<Record<ChatProtocol, object>> = {
  messages: {
    max_tokens: 8192,
    system: "You work on files.",
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
  },
  chat: { reasoning_effort: "high", stream_options: { include_usage: true } },
  responses: {
    instructions: "You work on files.",
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high", summary: "auto" },
  },
};

t.test("a conversation of 30 turns goes through all families", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });

  for (const protocol of ["messages", "chat", "responses"] as const) {
    // A task is three turns. With a shift, the model changes while tools are under way.
    for (const shift of [0, 1, 2]) {
      t.test(`${protocol}, the model changes at turn ${TURNS_OF_MODEL - shift} of a task`, (t) =>
        converse(t, protocol, shift),
      );
    }
  }

  async function converse(t: Test, protocol: ChatProtocol, shift: number): Promise<void> {
    const customer = await customerWith(gateway);
    const field = protocol === "responses" ? "input" : "messages";
    const turns: unknown[] =
      protocol === "chat" ? [{ role: "system", content: "You work on files." }] : [];
    const calls: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const at = Math.floor((turn + shift) / TURNS_OF_MODEL) % FAMILIES.length;
      const model = FAMILIES[at] ?? "";
      if (calls.length === 0 || calls.at(-1) === 0)
        turns.push(said(protocol, `task ${turn}`, model));
      const body = { model, [field]: turns, tools: TOOLS[protocol], ...FIELDS[protocol] };
      try {
        const made = await streamedTurn(gateway, customer, protocol, body);
        calls.push(made.calls.length);
        turns.push(...made.turns);
        if (made.calls.length > 0)
          turns.push(...resultTurns(protocol, made.calls, result(protocol)));
      } catch (error) {
        t.fail(`turn ${turn} on ${model}: ${String(error)}`);
        return;
      }
    }
    t.strictSame(calls, Array.from({ length: TURNS / 3 }, () => [2, 1, 0]).flat());
    const records = await billedCalls(gateway, customer, TURNS);
    t.ok(records.every(({ status, cost_vnd }) => status === 200 && cost_vnd !== "0"));
  }
});
