#!/usr/bin/env node
/** `npm run admin -- COMMAND`: runs an operator's command against a running gateway. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { arrayOf, objectOf } from "../../core/contract/index.ts";
import { noCommand, type Request, readArguments } from "./cli/arguments.ts";
import { Client } from "./cli/client.ts";
import type { Command, Values } from "./cli/command.ts";
import { commands } from "./cli/commands.ts";
import { EXIT, Failure } from "./cli/failure.ts";
import { help, helpOf } from "./cli/help.ts";
import { print } from "./cli/output.ts";
import { pluginCommands } from "./cli/plugin-commands.ts";

const URL_DEFAULT = "http://127.0.0.1:8080";
const MISSING = "Cannot read the commands of plugins from the gateway";
const LIST = "npm run admin -- help lists the commands";
const TOKEN_FILE = join("data", "admin-token");

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.refused);
});

async function main(): Promise<number> {
  const given = process.argv.slice(2);
  let request = readArguments(given, commands);
  if (request.kind !== "command" && !(request.kind === "help" && request.command)) {
    const more = await commandsOfPlugins(request);
    if (more instanceof Failure) {
      const note = `${MISSING}: ${more.message}`;
      if (request.kind === "help" && request.words === "") return printed(help(commands, note));
      const problem =
        request.kind === "help" ? noCommand(request.words, commands) : request.problem;
      throw new Failure(more.exitCode, `${problem}. ${note}`);
    }
    const all = [...commands, ...more];
    request = readArguments(given, all);
    if (request.kind === "help" && request.words === "") return printed(help(all));
    if (request.kind === "help" && !request.command) {
      throw new Failure(EXIT.usage, `${noCommand(request.words, all)}\n${LIST}`);
    }
    if (request.kind === "unknown") {
      throw new Failure(EXIT.usage, given.length === 0 ? help(all) : `${request.problem}\n${LIST}`);
    }
  }
  if (request.kind !== "command") return printed(request.command ? helpOf(request.command) : "");
  const client = clientOf(request);
  const values = await withAccountId(client, request.values);
  const output = await request.command.run(client, values);
  await print(output, request.json);
  return output.kind === "value" ? output.exitCode : EXIT.ok;
}

function printed(text: string): number {
  console.log(text);
  return EXIT.ok;
}

/** Replaces an email address in `--account` by the id of its account. */
async function withAccountId(client: Client, values: Values): Promise<Values> {
  const { account } = values;
  if (!account?.includes("@")) return values;
  const wanted = account.trim().toLowerCase();
  const found = await client.get("/accounts", { query: wanted, limit: "1000" });
  const match = arrayOf(found)
    .map(objectOf)
    .find((one) => String(one?.["email"]).toLowerCase() === wanted);
  if (match) return { ...values, account: String(match["id"]) };
  throw new Failure(EXIT.refused, `no account has the email address ${account}`);
}

/** Called only if no built-in command matches, so that a built-in one costs a single request. */
async function commandsOfPlugins(request: Request): Promise<Command[] | Failure> {
  try {
    return await pluginCommands(clientOf(request));
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function clientOf({ url, token }: Request): Client {
  return new Client(addressIn(url), tokenIn(token));
}

function addressIn(given: string | undefined): string {
  const address = given ?? (process.env["GATEWAY_URL"] || URL_DEFAULT);
  if (/^https?:\/\//.test(address) && URL.canParse(address)) return address.replace(/\/+$/, "");
  throw new Failure(EXIT.usage, `"${address}" is not an address; use one like ${URL_DEFAULT}`);
}

function tokenIn(given: string | undefined): string {
  const token = given ?? (process.env["GATEWAY_ADMIN_TOKEN"] || tokenOfFile());
  // Other characters cannot be sent in a header.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure(
    EXIT.usage,
    "the admin token has spaces or non-ASCII characters; check GATEWAY_ADMIN_TOKEN or --token",
  );
}

function tokenOfFile(): string {
  try {
    return readFileSync(TOKEN_FILE, "utf8").trim();
  } catch {
    const advice = "set GATEWAY_ADMIN_TOKEN, or run this in the gateway's working directory";
    throw new Failure(EXIT.usage, `no admin token; ${advice}`);
  }
}

try {
  // `process.exit` would cut off output that is still being written.
  process.exitCode = await main();
} catch (error) {
  const isExpected = error instanceof Failure;
  console.error(isExpected ? error.message : error);
  process.exitCode = isExpected ? error.exitCode : EXIT.refused;
}
