#!/usr/bin/env node
/** `npm run admin -- COMMAND`: runs an operator's command against a running gateway. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Request, readArguments } from "./cli/arguments.ts";
import { Client } from "./cli/client.ts";
import type { Command } from "./cli/command.ts";
import { commands } from "./cli/commands.ts";
import { EXIT, Failure } from "./cli/failure.ts";
import { help } from "./cli/help.ts";
import { print } from "./cli/output.ts";
import { pluginCommands } from "./cli/plugin-commands.ts";

const URL_DEFAULT = "http://127.0.0.1:8080";
const MISSING = "Cannot read the commands of plugins from the gateway";
const TOKEN_FILE = join("data", "admin-token");

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.refused);
});

async function main(): Promise<number> {
  const given = process.argv.slice(2);
  let request = readArguments(given, commands);
  if (request.kind !== "command") {
    const more = await commandsOfPlugins(request);
    const all = more instanceof Failure ? commands : [...commands, ...more];
    if (request.kind === "help") {
      const note = more instanceof Failure ? `${MISSING}: ${more.message}` : undefined;
      console.log(help(all, note));
      return EXIT.ok;
    }
    if (more instanceof Failure) {
      throw new Failure(more.exitCode, `${request.problem}. ${MISSING}: ${more.message}`);
    }
    request = readArguments(given, all);
    if (request.kind !== "command") {
      const problem = request.kind === "unknown" ? `${request.problem}\n\n` : "";
      throw new Failure(EXIT.usage, `${problem}${help(all)}`);
    }
  }
  const client = clientOf(request);
  const output = await request.command.run(client, request.values);
  await print(output, request.json);
  return output.kind === "value" ? output.exitCode : EXIT.ok;
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
