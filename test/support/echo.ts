import type { JsonObject } from "../../core/process/json.ts";

/** What the simulated provider received, which it says where its directive is `echo`. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  // A test reads whatever fields it expects; a missing one fails its assertion.
  // biome-ignore lint/suspicious/noExplicitAny: requests have many shapes
  readonly body: any;
}

/** Reads an echo out of the text of an answer. */
export function echoIn(text: string | null | undefined): Echo {
  const echo = JSON.parse(text ?? "") as Echo & JsonObject;
  if (typeof echo.path !== "string") throw new Error(`no echo: ${text?.slice(0, 200)}`);
  return echo;
}
