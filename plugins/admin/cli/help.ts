import type { Command } from "./command.ts";
import { commands } from "./commands.ts";

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  account: "ID",
  key: "ID",
  call: "ID",
  email: "ADDRESS",
  name: "NAME",
  "amount-vnd": "AMOUNT",
  reference: "TEXT",
  reason: "TEXT",
  query: "TEXT",
  message: "TEXT",
  bps: "N",
  "requests-per-minute": "N",
  transfer: "ID",
  order: "CODE",
  state: "STATE",
  limit: "N",
};

/** How one command is written. */
export function usageOf(command: Command): string {
  return `usage: npm run admin -- ${synopsis(command)}`;
}

/** All commands, options and exit codes. */
export function help(): string {
  const lines = commands.map((command) => `  ${synopsis(command)}\n      ${command.about}`);
  return `npm run admin -- COMMAND [--json] [--url URL] [--token TOKEN]

${lines.join("\n")}
  help
      shows this

  --json   one line of JSON instead of several
  --url    the gateway; else GATEWAY_URL, else http://127.0.0.1:8080
  --token  the admin token; else GATEWAY_ADMIN_TOKEN, else the file ./data/admin-token

exit codes: 0 done, 1 refused or a drift, 2 wrong usage, 3 the gateway cannot be reached`;
}

function synopsis({ words, required, optional }: Command): string {
  const option = (name: string) => `--${name} ${PLACEHOLDERS[name] ?? "VALUE"}`;
  return [words, ...required.map(option), ...optional.map((name) => `[${option(name)}]`)].join(" ");
}
