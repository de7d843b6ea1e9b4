import type { Command } from "./command.ts";

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  account: "ID|EMAIL",
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

/** Returns the usage line of one command. */
export function usageOf(command: Command): string {
  return `usage: npm run admin -- ${synopsis(command)}`;
}

/** Returns the help text of one command. */
export function helpOf(command: Command): string {
  return `${usageOf(command)}\n\n${command.about}`;
}

/** Returns the help text of all commands. `note` says why some commands may be missing. */
export function help(commands: readonly Command[], note?: string): string {
  const lines = commands.map((command) => `  ${synopsis(command)}\n      ${command.about}`);
  return `npm run admin -- COMMAND [--wide] [--json] [--url URL] [--token TOKEN]

${lines.join("\n")}
  help
      show this help
${note === undefined ? "" : `\n${note}\n`}
  --wide   print tables whole: every column, ids, texts; into a pipe too, as for less -S
  --json   print JSON on one line, times in UTC. Without it, a terminal gets tables, and a pipe indented JSON
  --url    gateway address; default GATEWAY_URL, else http://127.0.0.1:8080
  --token  admin token; default GATEWAY_ADMIN_TOKEN, else the file ./data/admin-token

exit codes: 0 done, 1 refused or a difference found, 2 wrong usage, 3 gateway unreachable`;
}

/** Returns the same as JSON, for programs. */
export function helpJson(commands: readonly Command[], note?: string): string {
  const shown = commands.map(({ words, required, optional, flags = [], about }) => ({
    words,
    required,
    optional,
    flags,
    about,
  }));
  return JSON.stringify({ commands: shown, ...(note !== undefined && { note }) });
}

function synopsis({ words, required, optional, flags = [], placeholders }: Command): string {
  const option = (name: string) =>
    `--${name} ${placeholders?.[name] ?? PLACEHOLDERS[name] ?? "VALUE"}`;
  const optionals = [...optional.map(option), ...flags.map((name) => `--${name}`)];
  return [words, ...required.map(option), ...optionals.map((one) => `[${one}]`)].join(" ");
}
