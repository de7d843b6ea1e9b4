#!/usr/bin/env node
/** `npm run admin -- COMMAND`: the operator's commands, against a running gateway. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readArguments } from "./cli/arguments.ts";
import { Client } from "./cli/client.ts";
import { EXIT, Failure } from "./cli/failure.ts";
import { help } from "./cli/help.ts";
import { print } from "./cli/output.ts";

const URL_DEFAULT = "http://127.0.0.1:8080";
const TOKEN_FILE = join("data", "admin-token");

// Whoever reads along, `head` say, may have seen enough: that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.refused);
});

async function main(): Promise<number> {
  const request = readArguments(process.argv.slice(2));
  if (request.kind === "help") {
    console.log(help());
    return EXIT.ok;
  }
  const client = new Client(addressIn(request.url), tokenIn(request.token));
  const output = await request.command.run(client, request.values);
  await print(output, request.json);
  return output.kind === "value" ? output.exitCode : EXIT.ok;
}

function addressIn(given: string | undefined): string {
  const address = given ?? (process.env["GATEWAY_URL"] || URL_DEFAULT);
  if (/^https?:\/\//.test(address) && URL.canParse(address)) return address.replace(/\/+$/, "");
  throw new Failure(EXIT.usage, `"${address}" is no address: write it like ${URL_DEFAULT}`);
}

function tokenIn(given: string | undefined): string {
  const token = given ?? (process.env["GATEWAY_ADMIN_TOKEN"] || tokenOfFile());
  // Anything else would not fit into a header.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure(EXIT.usage, "the admin token holds characters that no token has");
}

function tokenOfFile(): string {
  try {
    return readFileSync(TOKEN_FILE, "utf8").trim();
  } catch {
    const advice = "set GATEWAY_ADMIN_TOKEN, or run in the folder with data/ of the gateway";
    throw new Failure(EXIT.usage, `no admin token: ${advice}`);
  }
}

try {
  // Not `process.exit`, which would cut off what is still being written.
  process.exitCode = await main();
} catch (error) {
  const isExpected = error instanceof Failure;
  console.error(isExpected ? error.message : error);
  process.exitCode = isExpected ? error.exitCode : EXIT.refused;
}
