import { parseArgs } from "node:util";
import { closestMatch } from "leven";
import { messageOf, program } from "../../../core/plugin/index.ts";
import { ambiguityOf } from "../ambiguous-amount.ts";
import type { Command, Values } from "./command.ts";
import { EXIT, Failure } from "./failure.ts";
import { groupOf, usageOf } from "./help.ts";

/** Options of every command. */
export const GLOBAL_OPTIONS: readonly string[] = ["url", "token", "json", "csv", "wide", "help"];

interface Common {
  readonly json: boolean;
  readonly csv: boolean;
  readonly wide: boolean;
  readonly url: string | undefined;
  readonly token: string | undefined;
}

/**
 * A parsed command line. `help`: for one command, for a group, or for all if there are no `words`. `unknown`: no known
 * command matches; `problem` says why, and is empty if there is no word.
 */
export type Request = Common &
  (
    | { readonly kind: "help"; readonly words: string; readonly command: Command | undefined }
    | { readonly kind: "unknown"; readonly problem: string }
    | { readonly kind: "command"; readonly command: Command; readonly values: Values }
  );

/** Parses a command line. Throws a Failure with the usage if a known command has wrong options. */
export function readArguments(
  given: readonly string[],
  commands: readonly Command[],
  env: Readonly<Record<string, string | undefined>>,
): Request {
  const { values, positionals, problem } = parsed(given, commands);
  const { json, csv, wide, help, url, token, ...rest } = values;
  const shape = { json: json === true, csv: csv === true, wide: wide === true };
  const common = { ...shape, url: textOf(url), token: textOf(token) };
  const words = positionals.join(" ");
  if (help === true || positionals[0] === "help") {
    const isWord = positionals[0] === "help";
    const asked = isWord ? positionals.slice(1).join(" ") : words;
    // `help prices` is about a group, `prices --help` about a command.
    const isGroup = isWord && groupOf(asked, commands).length > 1;
    const command = isGroup ? undefined : commands.find(named(asked));
    return { ...common, kind: "help", words: asked, command };
  }
  if (problem !== undefined) {
    const leading = given.slice(0, firstOption(given)).join(" ");
    const command = commands.find(named(leading));
    if (command) throw new Failure(EXIT.usage, `${problem}\n${usageOf(command)}`);
    return { ...common, kind: "unknown", problem };
  }
  const command = commands.find(named(words));
  const asked = command ? [command] : commands;
  const own = asked.flatMap(({ required, optional, flags = [] }) => [
    ...[...required, ...optional, ...flags],
  ]);
  const names = [...new Set([...own, ...GLOBAL_OPTIONS])];
  const kept = program.keptByNpm(names, [command?.words ?? "COMMAND"], env);
  if (kept !== undefined && command) throw new Failure(EXIT.usage, kept);
  if (command) return { ...common, kind: "command", command, values: checked(command, rest) };
  const unknown = kept ?? (words === "" ? "" : noCommand(words, commands));
  return { ...common, kind: "unknown", problem: unknown };
}

const named = (words: string) => (command: Command) => command.words === words;

/** Says that there is no such command, and names those that begin so, or the one that is spelled most like it. */
export function noCommand(words: string, commands: readonly Command[]): string {
  const longer = commands.filter((command) => command.words.startsWith(`${words} `));
  if (longer.length > 0) {
    return `"${words}" needs another word: ${longer.map((command) => command.words).join(", ")}`;
  }
  const near = closestMatch(
    words,
    commands.map((command) => command.words),
    { maxDistance: Math.ceil(words.length / 3) },
  );
  const advice = near === undefined ? "" : `; did you mean "${near}"?`;
  return `there is no command "${words}"${advice}`;
}

function parsed(given: readonly string[], commands: readonly Command[]) {
  const names = new Set(commands.flatMap(({ required, optional }) => [...required, ...optional]));
  const texts = Object.fromEntries([...names].map((name) => [name, { type: "string" as const }]));
  const flags = new Set(commands.flatMap((command) => command.flags ?? []));
  const options = {
    ...texts,
    ...Object.fromEntries([...flags].map((name) => [name, { type: "boolean" as const }])),
    url: { type: "string" as const },
    token: { type: "string" as const },
    json: { type: "boolean" as const },
    csv: { type: "boolean" as const },
    wide: { type: "boolean" as const },
    help: { type: "boolean" as const, short: "h" },
  };
  const args = joined(given, texts);
  const loose = parseArgs({ args, allowPositionals: true, options, strict: false });
  try {
    return { ...parseArgs({ args, allowPositionals: true, options }), problem: undefined };
  } catch (error) {
    return { ...loose, problem: problemOf(error) };
  }
}

/** Turns `--amount-vnd -500` into `--amount-vnd=-500`, so that `parseArgs` does not take -500 for an option. */
function joined(given: readonly string[], texts: Readonly<Record<string, unknown>>): string[] {
  const args: string[] = [];
  for (const arg of given) {
    const before = args.at(-1) ?? "";
    const isValue = /^-\.?\d/.test(arg) && before.startsWith("--") && before.slice(2) in texts;
    if (isValue) args.push(`${args.pop()}=${arg}`);
    else args.push(arg);
  }
  return args;
}

function firstOption(given: readonly string[]): number {
  const at = given.findIndex((arg) => arg.startsWith("-"));
  return at < 0 ? given.length : at;
}

function checked(
  command: Command,
  given: Readonly<Record<string, string | boolean | undefined>>,
): Values {
  const { words, required, optional, flags = [] } = command;
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (![...required, ...optional, ...flags].includes(name)) {
      throw new Failure(EXIT.usage, `${words} has no option --${name}\n${usageOf(command)}`);
    }
    values[name] = typeof value === "string" ? value : "yes";
    const fault = name.endsWith("-vnd") ? ambiguityOf(values[name] ?? "") : undefined;
    if (fault !== undefined) throw new Failure(EXIT.usage, `--${name}: ${fault}`);
  }
  for (const name of required) {
    if ((values[name] ?? "") === "") {
      throw new Failure(EXIT.usage, `${words} needs --${name}\n${usageOf(command)}`);
    }
  }
  const { limit } = values;
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit)) {
    throw new Failure(
      EXIT.usage,
      `--limit must be a whole number of at least 1\n${usageOf(command)}`,
    );
  }
  return values;
}

function textOf(value: string | boolean | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the first sentence of an error of `parseArgs`. The others are about arguments that begin with a dash. */
function problemOf(error: unknown): string {
  return messageOf(error).replace(/\.\s.*$/s, "");
}
