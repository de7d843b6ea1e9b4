import { type Command, done, type OperatorRoute, type Services } from "../../core/plugin/index.ts";
import { GLOBAL_OPTIONS } from "./cli/arguments.ts";
import { commands as builtIn } from "./cli/commands.ts";

const WORDS = /^[a-z][a-z-]*(?: [a-z][a-z-]*)*$/;
const OPTION = /^[a-z][a-z-]*$/;

/** `GET /commands`: lists the commands that plugins add to the command line. Throws if one of them is invalid. */
export function commandRoutes({ commands }: Services): OperatorRoute[] {
  const owners = new Map(
    ["help", ...builtIn.map(({ words }) => words)].map((words) => [words, "admin"]),
  );
  for (const { plugin, command } of commands) {
    const owner = owners.get(command.words);
    if (owner !== undefined) {
      throw new Error(
        `the plugin ${plugin} adds the command "${command.words}", which ${owner} has already; use other words`,
      );
    }
    owners.set(command.words, plugin);
    const problem = problemOf(command);
    if (problem !== undefined) {
      throw new Error(`the command "${command.words}" of the plugin ${plugin}: ${problem}`);
    }
  }
  const list = commands.map(({ command }) => command);
  return [{ method: "GET", path: "/commands", handle: async () => done(list) }];
}

function problemOf({ words, path, options = [], oneOf = [] }: Command): string | undefined {
  if (!WORDS.test(words))
    return "the words of a command must have only lower-case letters and hyphens";
  if (!path.startsWith("/")) return `its path ${path} must start with /`;
  const known = new Map(options.map((option) => [option.name, option]));
  if (known.size < options.length) return "it has an option twice";
  for (const name of known.keys()) {
    if (!OPTION.test(name))
      return `its option "${name}" must have only lower-case letters and hyphens`;
    if (GLOBAL_OPTIONS.includes(name))
      return `its option ${name} is reserved: every command has it`;
  }
  for (const [, name = ""] of path.matchAll(/:([^/]+)/g)) {
    if (!known.get(name)?.required) return `:${name} of its path must be a required option`;
  }
  const stray = oneOf.find((name) => !known.has(name) || known.get(name)?.required);
  if (stray !== undefined) return `oneOf names "${stray}", which must be an optional option`;
  return undefined;
}
