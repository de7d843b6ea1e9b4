import { readFileSync } from "node:fs";
import { join } from "node:path";
import { program } from "../../../core/plugin/index.ts";
import { noCommand, type Request, readArguments } from "./arguments.ts";
import { Client } from "./client.ts";
import type { Ask, Command, Values } from "./command.ts";
import { commands } from "./commands.ts";
import { EXIT, Failure } from "./failure.ts";
import { findAccount } from "./find-account.ts";
import { groupHelp, groupOf, help, helpJson, helpOf } from "./help.ts";
import { print, type Write } from "./output.ts";
import { pluginCommands } from "./plugin-commands.ts";

const URL_DEFAULT = "http://127.0.0.1:8080";
const MISSING = "Cannot read the commands of plugins from the gateway";
const LIST = `${program.admin} help lists the commands`;
const TOKEN_FILE = join("data", "admin-token");

/** The parts of its process that a command uses, so that a test can replace them. */
interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory: the token is looked for in its data folder. */
  readonly folder: string;
  readonly write: Write;
  /** The width of the terminal; undefined if no person reads the output, who gets tables. */
  readonly columns?: number | undefined;
  /** Asks the person at the terminal; undefined without one. */
  readonly ask?: Ask | undefined;
}

/**
 * Runs the command that the words name. Resolves with its exit code, and throws a Failure with a message for the
 * operator.
 */
export async function run(given: readonly string[], around: Surroundings): Promise<number> {
  const printed = async (text: string) => {
    await around.write(`${text}\n`);
    return EXIT.ok;
  };
  if (["--version", "version"].includes(given.join(" "))) return printed(program.version);
  let request = readArguments(given, commands, around.env);
  const shown = (some: readonly Command[], text: string, note?: string) =>
    printed(request.json ? helpJson(some, note) : text);
  if (request.kind !== "command" && !(request.kind === "help" && request.command)) {
    const more = await commandsOfPlugins(request, around);
    if (more instanceof Failure) {
      const note = `${MISSING}: ${more.message}`;
      if (request.kind === "help" && request.words === "") {
        return shown(commands, help(commands, note), note);
      }
      const problem =
        request.kind === "help" ? noCommand(request.words, commands) : request.problem;
      if (problem === "") throw new Failure(EXIT.usage, help(commands, note));
      throw new Failure(more.exitCode, `${problem}. ${note}`);
    }
    const all = [...commands, ...more];
    request = readArguments(given, all, around.env);
    if (request.kind === "help" && request.words === "") return shown(all, help(all));
    if (request.kind === "help" && !request.command) {
      const group = groupOf(request.words, all);
      if (group.length > 0) return shown(group, groupHelp(group));
      throw new Failure(EXIT.usage, `${noCommand(request.words, all)}\n${LIST}`);
    }
    if (request.kind === "unknown") {
      throw new Failure(
        EXIT.usage,
        request.problem === "" ? help(all) : `${request.problem}\n${LIST}`,
      );
    }
  }
  if (request.kind !== "command") {
    const { command } = request;
    return command ? shown([command], helpOf(command)) : printed("");
  }
  const client = request.command.isLocal ? new Client("", "") : clientOf(request, around);
  const values = await withAccountId(client, request.values);
  const output = await request.command.run(client, values, around.ask);
  await print(output, formOf(request, around), around.write);
  return output.kind === "value" ? output.exitCode : EXIT.ok;
}

/** A pipe gets JSON, unless it is asked for tables, as `--wide | less -S` does. */
function formOf(
  { json, csv, wide }: Request,
  { columns }: Surroundings,
): Parameters<typeof print>[1] {
  if (csv) return "csv";
  if (json) return "compact";
  if (wide) return { width: Number.POSITIVE_INFINITY };
  return columns === undefined ? "indented" : { width: columns };
}

/** Replaces an email address in `--account` by the id of its account. */
async function withAccountId(client: Client, values: Values): Promise<Values> {
  const { account } = values;
  if (!account?.includes("@")) return values;
  const found = await findAccount(client, account);
  if (found !== undefined) return { ...values, account: found };
  throw new Failure(EXIT.refused, `no account has the email address ${account}`);
}

/** Called only if no built-in command matches, so that a built-in one costs a single request. */
async function commandsOfPlugins(
  request: Request,
  around: Surroundings,
): Promise<Command[] | Failure> {
  try {
    return await pluginCommands(clientOf(request, around));
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function clientOf({ url, token }: Request, around: Surroundings): Client {
  return new Client(addressIn(url, around), tokenIn(token, around));
}

function addressIn(given: string | undefined, { env }: Surroundings): string {
  const address = given ?? (env["GATEWAY_URL"] || URL_DEFAULT);
  if (/^https?:\/\//.test(address) && URL.canParse(address)) return address.replace(/\/+$/, "");
  throw new Failure(EXIT.usage, `"${address}" is not an address; use one like ${URL_DEFAULT}`);
}

function tokenIn(given: string | undefined, { env, folder }: Surroundings): string {
  const token = given ?? (env["GATEWAY_ADMIN_TOKEN"] || tokenOfFile(folder));
  // A token with other characters cannot be sent in a header.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure(
    EXIT.usage,
    "the admin token has spaces or non-ASCII characters; check GATEWAY_ADMIN_TOKEN or --token",
  );
}

function tokenOfFile(folder: string): string {
  try {
    return readFileSync(join(folder, TOKEN_FILE), "utf8").trim();
  } catch {
    const advice =
      "set GATEWAY_ADMIN_TOKEN to what the file admin-token in the gateway's data folder (stores.data) has, " +
      "or run this in the folder that has data/";
    throw new Failure(EXIT.usage, `no admin token; ${advice}`);
  }
}
