import type { Client } from "./client.ts";
import { EXIT } from "./failure.ts";

/** Values of a command's options; those that it requires are there. */
export type Values = Readonly<Record<string, string>>;

/** What a command prints: one JSON value, or a list whose items come page by page. */
export type Output =
  | { readonly kind: "value"; readonly value: unknown; readonly exitCode: number }
  | { readonly kind: "list"; readonly items: AsyncIterable<unknown> };

export interface Command {
  /** What it is called by, `account create`. */
  readonly words: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly about: string;
  /** What `help` shows for the values of options. */
  readonly placeholders?: Readonly<Record<string, string>>;
  run(client: Client, values: Values): Promise<Output>;
}

export function value(answer: unknown): Output {
  return { kind: "value", value: answer, exitCode: EXIT.ok };
}

/** Where the admin API has an account, whatever text is given as its id. */
export function accountPath(account: string | undefined): string {
  return `/accounts/${encoded(account)}`;
}

export function encoded(id: string | undefined): string {
  return encodeURIComponent(id ?? "");
}

/** Only the options that were given, by the names that the API has for them. */
export function given(
  fields: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const set: Record<string, string> = {};
  for (const [name, text] of Object.entries(fields)) if (text !== undefined) set[name] = text;
  return set;
}

/** A number where it is one; anything else as it was given, for the API to say what it expects. */
export function numeric(text: string | undefined): number | string {
  return /^-?\d+$/.test(text ?? "") ? Number(text) : (text ?? "");
}
