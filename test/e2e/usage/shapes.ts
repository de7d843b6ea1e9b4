import { readFileSync } from "node:fs";
import type { Directive } from "../../support/provider/directive.ts";

/** One way in which a provider reports usage, and what is right to charge for it. */
export interface Shape {
  readonly id: string;
  readonly provider: string;
  readonly protocol: "messages" | "chat" | "responses";
  readonly stream: boolean;
  /** The reason to believe that providers report so. */
  readonly source: string;
  /** The kind of the reply, if it is not an ordinary one. */
  readonly frame?: keyof typeof FRAMES;
  readonly reports?: NonNullable<Directive["reports"]>;
  readonly tool_usage?: NonNullable<Directive["tool_usage"]>;
  /** Input and output tokens together. */
  readonly right: number;
}

const file = new URL("../../../../test/e2e/usage/shapes.json", import.meta.url);

const written = JSON.parse(readFileSync(file, "utf8")) as readonly Shape[];
const ids = new Set(written.map(({ id }) => id));

/** All shapes, each of them whole and streamed if it can be. */
export const shapes: readonly Shape[] = [...written, ...written.flatMap(streamedForm)];

/** Returns the streamed form of a shape, unless the file has it. */
function streamedForm(shape: Shape): Shape[] {
  const { id, protocol, reports = [], stream, frame } = shape;
  const twin = id.replace("-", "s-");
  if (stream || frame || ids.has(twin)) return [];
  // Fields of the reply itself come in no chunk.
  if (reports.some(([place]) => place === "reply" || place === "meta")) return [];
  const places = reports.flatMap(([place, usage]): NonNullable<Shape["reports"]> => {
    if (place !== "usage" || protocol === "responses") return [[place, usage]];
    if (protocol === "chat") return [["last", usage]];
    return [
      ["message_start", { input_tokens: 0, output_tokens: 0 }],
      ["message_delta", usage],
    ];
  });
  return [{ ...shape, id: twin, stream: true, reports: places }];
}

/** Short, so that a reported output of 0 is believed. */
const TEXT = "Good day.";

const ERROR = { type: "overloaded_error", message: "Overloaded" };

const FRAMES = {
  "refusal-empty": { text: "", stop: "refusal" },
  incomplete: { stop: "max_output_tokens" },
  error: { reply: { type: "error", error: ERROR } },
  "error-usage-null": { reply: { error: { ...ERROR, code: 502 }, usage: null } },
  empty: { reply: {} },
  failed: {
    reply: {
      id: "resp_1",
      object: "response",
      status: "failed",
      error: { code: "server_error", message: "It failed." },
      output: [],
      usage: null,
    },
  },
} satisfies Record<string, Directive>;

/** Makes the simulated provider reply in this shape. */
export function directiveOf({ reports, tool_usage, frame }: Shape): Directive {
  return {
    text: TEXT,
    ...(reports && { reports: [...reports] }),
    ...(tool_usage && { tool_usage }),
    ...(frame && FRAMES[frame]),
  };
}
