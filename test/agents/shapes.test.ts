import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { billedCalls, customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { type ChatProtocol, resultTurns, streamedTurn } from "../support/streamed-turn.ts";

/** The first request of a client, recorded by `npm run agents`; texts are cut short. */
interface Shape {
  readonly client: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const FOLDER = join(packageRoot, "test", "agents", "shapes");
const STEPS_MAX = 5;

const MODELS = [
  ...["claude-opus-5-5", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.5-flash", "grok-4.5"],
  ...["deepseek-v4-pro", "qwen3.7-max", "kimi-k2.7-code", "glm-5.2", "MiniMax-M3"],
  "svc/mistral-large-3-675b",
];

function protocolOf({ path }: Shape): ChatProtocol {
  if (path.startsWith("/v1/messages")) return "messages";
  return path === "/v1/responses" ? "responses" : "chat";
}

/**
 * Returns the number of tool calls at each step: one at a time if the client asks for that, none
 * without tools.
 */
function expected({ body }: Shape): number[] {
  if (body["parallel_tool_calls"] === false) return [1, 1, 0];
  return body["tools"] === undefined ? [0] : [2, 1, 0];
}

t.test("what agents send is taken by a model of each family", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });

  const files = readdirSync(FOLDER);
  t.ok(files.length > 10, "the shapes are there");
  for (const file of files) {
    const shape = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Shape;
    t.test(`${file}: ${shape.client}`, async (t) => {
      const protocol = protocolOf(shape);
      const field = protocol === "responses" ? "input" : "messages";
      const customer = await customerWith(gateway, 1_000_000);
      for (const model of MODELS) {
        const turns = [...(shape.body[field] as unknown[])];
        const calls: number[] = [];
        try {
          while (calls.at(-1) !== 0 && calls.length < STEPS_MAX) {
            const body = { ...shape.body, model, [field]: turns };
            const made = await streamedTurn(gateway, customer, protocol, body, shape.headers);
            turns.push(...made.turns, ...resultTurns(protocol, made.calls));
            calls.push(made.calls.length);
          }
        } catch (error) {
          t.fail(`${model}, step ${calls.length}: ${String(error)}`);
          continue;
        }
        t.strictSame(calls, expected(shape), model);
      }
      const records = await billedCalls(gateway, customer, expected(shape).length * MODELS.length);
      t.ok(
        records.every(({ status }) => status === 200),
        "every call is charged",
      );
    });
  }
});
