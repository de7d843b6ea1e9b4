import { type ParseArgsConfig, parseArgs } from "node:util";
import { messageOf } from "./thrown.ts";

const WRONG_ARGUMENTS = 2;

/**
 * Parses the arguments of this process, as `parseArgs` of Node does. Ends the process if one is wrong, as
 * `refuseArguments` does, and after `--help`, which prints the usage.
 */
export function parseArguments<const T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  let parsed: ReturnType<typeof parseArgs<T>>;
  try {
    parsed = parseArgs(config);
  } catch (error) {
    return refuseArguments(usage, argumentProblem(error));
  }
  if (!Object.entries(parsed.values).some(([name, value]) => name === "help" && value === true)) {
    return parsed;
  }
  console.log(usage);
  process.exit(0);
}

/** Ends this process with status 2: says what is wrong with its arguments, then how to use it. */
export function refuseArguments(usage: string, problem: string): never {
  console.error(`${problem}\n\n${usage}`);
  process.exit(WRONG_ARGUMENTS);
}

/** Returns the first sentence of an error of `parseArgs`. The others are about arguments that begin with a dash. */
export function argumentProblem(error: unknown): string {
  return messageOf(error).replace(/\.\s.*$/s, "");
}
