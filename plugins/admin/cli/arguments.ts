import { parseArgs } from "node:util";
import type { Command, Values } from "./command.ts";
import { commands } from "./commands.ts";
import { EXIT, Failure } from "./failure.ts";
import { help, usageOf } from "./help.ts";

/** What was asked for, in order and complete. */
export type Request =
  | { readonly kind: "help" }
  | {
      readonly kind: "command";
      readonly command: Command;
      readonly values: Values;
      readonly json: boolean;
      readonly url: string | undefined;
      readonly token: string | undefined;
    };

/** Reads a command line; a Failure says what is wrong with it and how the command is written. */
export function readArguments(given: readonly string[]): Request {
  const { values, positionals } = parsed(given);
  const { json, help: wantsHelp, url, token, ...rest } = values;
  const words = positionals.join(" ");
  if (wantsHelp === true || words === "help") return { kind: "help" };
  if (words === "") throw new Failure(EXIT.usage, help());
  const command = commands.find((one) => one.words === words);
  if (!command) throw new Failure(EXIT.usage, `there is no command "${words}"\n\n${help()}`);
  return {
    kind: "command",
    command,
    values: checked(command, rest),
    json: json === true,
    url: textOf(url),
    token: textOf(token),
  };
}

function parsed(given: readonly string[]) {
  const names = new Set(commands.flatMap(({ required, optional }) => [...required, ...optional]));
  const options = Object.fromEntries([...names].map((name) => [name, { type: "string" as const }]));
  try {
    return parseArgs({
      args: joined(given),
      allowPositionals: true,
      options: {
        ...options,
        url: { type: "string" as const },
        token: { type: "string" as const },
        json: { type: "boolean" as const },
        help: { type: "boolean" as const, short: "h" },
      },
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(EXIT.usage, `${why}\n\n${help()}`);
  }
}

/** `--amount-vnd -500` as `--amount-vnd=-500`: the value is a number here, never another option. */
function joined(given: readonly string[]): string[] {
  const args: string[] = [];
  for (const arg of given) {
    if (/^-\.?\d/.test(arg) && args.at(-1) === "--amount-vnd") args.push(`${args.pop()}=${arg}`);
    else args.push(arg);
  }
  return args;
}

function checked(
  command: Command,
  given: Readonly<Record<string, string | boolean | undefined>>,
): Values {
  const { words, required, optional } = command;
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string") continue;
    if (!required.includes(name) && !optional.includes(name)) {
      throw new Failure(EXIT.usage, `${words} takes no --${name}\n${usageOf(command)}`);
    }
    values[name] = value;
  }
  for (const name of required) {
    if ((values[name] ?? "") === "") {
      throw new Failure(EXIT.usage, `${words} needs --${name}\n${usageOf(command)}`);
    }
  }
  const { limit } = values;
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit)) {
    throw new Failure(EXIT.usage, `--limit must be a number of at least 1\n${usageOf(command)}`);
  }
  return values;
}

function textOf(value: string | boolean | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
