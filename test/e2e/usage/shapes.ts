import { readFileSync } from "node:fs";
import type { Directive } from "../../../plugins/simulator/directive.ts";

/** One way in which a provider reports usage, and what is right to charge for it. */
export interface Shape {
  readonly id: string;
  readonly provider: string;
  readonly protocol: "messages" | "chat" | "responses";
  readonly stream: boolean;
  /** The reason to believe that providers report so. */
  readonly source: string;
  /** What the reply is, if it is no ordinary one. */
  readonly frame?: keyof typeof FRAMES;
  readonly reports?: NonNullable<Directive["reports"]>;
  readonly tool_usage?: NonNullable<Directive["tool_usage"]>;
  /** Input and output tokens together. */
  readonly right: number;
}

const file = new URL("../../../../test/e2e/usage/shapes.json", import.meta.url);

export const shapes = JSON.parse(readFileSync(file, "utf8")) as readonly Shape[];

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
