import type { Client } from "./client.ts";
import { EXIT } from "./failure.ts";

/** Values by option name. Includes all required options. */
export type Values = Readonly<Record<string, string>>;

/** The output of a command: one JSON value, or a list that is fetched page by page. */
export type Output =
  | { readonly kind: "value"; readonly value: unknown; readonly exitCode: number }
  | { readonly kind: "list"; readonly items: AsyncIterable<unknown> };

/** Asks the person at the terminal, and returns the reply. */
export type Ask = (question: string) => Promise<string>;

/** The text of `help` about an option. A flag has no `value`. */
export interface OptionText {
  /** The placeholder: `ID`. */
  readonly value?: string | undefined;
  readonly about?: string | undefined;
  /** As a shell takes it. */
  readonly example?: string | undefined;
}

export interface Command {
  /** The command's words, such as `account create`. */
  readonly words: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** The list of all commands shows it up to a semicolon, a colon or a full stop. */
  readonly about: string;
  /** Options without a value. In `values` such an option is "yes" if it was given. */
  readonly flags?: readonly string[];
  /** It needs no gateway: its client has no address. */
  readonly isLocal?: boolean;
  /** Texts of `help` about options that are not the same in every command. */
  readonly options?: Readonly<Record<string, OptionText>>;
  /** Optional options without which the example would be wrong. */
  readonly inExample?: readonly string[];
  /** `ask`: undefined without a terminal. */
  run(client: Client, values: Values, ask?: Ask): Promise<Output>;
}

export function value(answer: unknown): Output {
  return { kind: "value", value: answer, exitCode: EXIT.ok };
}

/** Returns the API path of an account; escapes the given id. */
export function accountPath(account: string | undefined): string {
  return `/accounts/${encoded(account)}`;
}

export function encoded(id: string | undefined): string {
  return encodeURIComponent(id ?? "");
}

/** Drops undefined fields, which are options that were not given. */
export function given(
  fields: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const set: Record<string, string> = {};
  for (const [name, text] of Object.entries(fields)) if (text !== undefined) set[name] = text;
  return set;
}

/**
 * Returns a whole number as a number, and other text unchanged: the API then says which values it
 * expects.
 */
export function numeric(text: string | undefined): number | string {
  return /^-?\d+$/.test(text ?? "") ? Number(text) : (text ?? "");
}
