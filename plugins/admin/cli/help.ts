import type { Command } from "./command.ts";

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
  bps: "N",
  "requests-per-minute": "N",
  limit: "N",
};

/** How one command is written. */
export function usageOf(command: Command): string {
  return `usage: npm run admin -- ${synopsis(command)}`;
}

/** All commands, options and exit codes; `note` says why some commands may be missing. */
export function help(commands: readonly Command[], note?: string): string {
  const lines = commands.map((command) => `  ${synopsis(command)}\n      ${command.about}`);
  return `npm run admin -- COMMAND [--json] [--url URL] [--token TOKEN]

${lines.join("\n")}
  help
      shows this
${note === undefined ? "" : `\n${note}\n`}
  --json   one line of JSON instead of several
  --url    the gateway; else GATEWAY_URL, else http://127.0.0.1:8080
  --token  the admin token; else GATEWAY_ADMIN_TOKEN, else the file ./data/admin-token

exit codes: 0 done, 1 refused or a drift, 2 wrong usage, 3 the gateway cannot be reached`;
}

function synopsis({ words, required, optional, placeholders }: Command): string {
  const option = (name: string) =>
    `--${name} ${placeholders?.[name] ?? PLACEHOLDERS[name] ?? "VALUE"}`;
  return [words, ...required.map(option), ...optional.map((name) => `[${option(name)}]`)].join(" ");
}
