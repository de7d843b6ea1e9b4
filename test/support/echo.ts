import type { JsonObject } from "../../core/process/json.ts";

/** The request that the simulated provider received; it returns it if its directive is `echo`. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  // Untyped, because a missing field fails the assertion that reads it.
  // biome-ignore lint/suspicious/noExplicitAny: requests have many shapes
  readonly body: any;
}

/** Parses an echo out of the text of a reply. */
export function echoIn(text: string | null | undefined): Echo {
  const echo = JSON.parse(text ?? "") as Echo & JsonObject;
  if (typeof echo.path !== "string") throw new Error(`no echo: ${text?.slice(0, 200)}`);
  return echo;
}
