import { program } from "../../../core/plugin/index.ts";
import type { Command } from "./command.ts";
import { optionText } from "./options.ts";

/** npm prints lines of its own, which are no JSON and no CSV. */
const NPM_NOTE = program.admin.startsWith("npm run ")
  ? `\n           into a pipe or a file with ${program.admin.replace("run", "run --silent")}`
  : "";

/** The groups of `help`, each with its title and the first words of its commands. */
const GROUPS: Readonly<Record<string, readonly [title: string, ...words: string[]]>> = {
  accounts: [
    "customers",
    "account",
    "invite",
    "team",
    "usage",
    "refused",
    "second-factor",
    "announce",
    "message",
  ],
  money: [
    "wallets and charges",
    "report",
    "wallet",
    "ledger",
    "movement",
    "statement",
    "credit",
    "adjust",
    "refund",
    "call",
  ],
  transfers: ["bank transfers", "transfer", "order"],
  vouchers: ["codes that customers redeem", "voucher"],
  keys: ["API keys", "key"],
  prices: ["the config, and what it sells for", "reload", "prices", "models"],
  providers: ["upstreams", "upstreams", "upstream", "traffic"],
  daily: [
    "the day's work",
    "doctor",
    "servers",
    "backups",
    "system",
    "reconcile",
    "drift",
    "holds",
    "quarantine",
    "maintenance",
    "actions",
  ],
  people: ["who may do what", "operator", "token", "approval"],
  machine: ["set up, archive, restore", "init", "upgrade", "secrets", "archive", "restore"],
};
/** Of commands that no group has: those of other plugins. */
const OTHERS = ["others", "of plugins"] as const;

/** Returns the usage line of one command. */
export function usageOf(command: Command): string {
  return `usage: ${program.admin} ${synopsis(command)}`;
}

/** Returns the help text of one command: its usage, purpose, options and an example. */
export function helpOf(command: Command): string {
  const { required, optional, flags = [] } = command;
  const options = [...required, ...optional, ...flags].map((name) => {
    const { about = "" } = optionText(command, name);
    const need = required.includes(name) ? "required" : "";
    return [option(command, name), [need, about].filter((text) => text !== "").join("; ")] as const;
  });
  const parts = [usageOf(command), command.about, columns(options), exampleOf(command)];
  return parts.filter((part) => part !== "").join("\n\n");
}

/**
 * Returns the commands of a group of `help`, or those that are or begin with the same word, as `account list` and
 * `account create` do.
 */
export function groupOf(word: string, all: readonly Command[]): readonly Command[] {
  const group = all.filter((command) => groupNameOf(command) === word);
  return group.length > 0 ? group : all.filter(({ words }) => `${words} `.startsWith(`${word} `));
}

/** Returns the help text of some commands, each with its options and an example. */
export function groupHelp(commands: readonly Command[]): string {
  const texts = commands.map((command) =>
    [synopsis(command), command.about, exampleOf(command)].join("\n      "),
  );
  return `${texts.join("\n\n")}\n\nCOMMAND --help explains the options`;
}

/** Returns the help text of all commands, a line each. `note` says why some commands may be missing. */
export function help(commands: readonly Command[], note?: string): string {
  const groups = [...Object.keys(GROUPS), OTHERS[0]].flatMap((name) => {
    const [title, ...firsts] = GROUPS[name] ?? [OTHERS[1]];
    const group = commands
      .filter((command) => groupNameOf(command) === name)
      .toSorted((one, other) => firsts.indexOf(firstOf(one)) - firsts.indexOf(firstOf(other)));
    return group.length > 0 ? [{ head: `${name}: ${title}`, group }] : [];
  });
  const width = Math.max(...commands.map(({ words }) => words.length));
  const texts = groups.map(({ head, group }) =>
    [
      head,
      columns(
        group.map((command) => [command.words, summaryOf(command)]),
        width,
      ),
    ].join("\n"),
  );
  return `${program.admin} COMMAND [--wide] [--json] [--csv] [--url URL] [--token TOKEN]

${texts.join("\n\n")}
${note === undefined ? "" : `\n${note}\n`}
help GROUP, such as help money, shows the options; COMMAND --help explains them

  --wide   print tables whole: every column, ids, texts; into a pipe too, as for less -S
  --json   print JSON on one line, times in UTC. Without it, a terminal gets tables, and a pipe indented JSON
  --csv    print a list for spreadsheets, with a line of names; of an object its last list${NPM_NOTE}
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

function firstOf({ words }: Command): string {
  return words.split(" ")[0] ?? "";
}

function groupNameOf(command: Command): string {
  const first = firstOf(command);
  const found = Object.entries(GROUPS).find(([, [, ...group]]) => group.includes(first));
  return found?.[0] ?? OTHERS[0];
}

/** Returns what a command does, without its details: the text before a semicolon or a colon. */
function summaryOf({ about }: Command): string {
  return about.replace(/(?:[;:]|\. ).*$/s, "");
}

function exampleOf(command: Command): string {
  const { words, required, inExample = [] } = command;
  const options = [...required, ...inExample].map((name) => {
    const { value = "VALUE", example = value } = optionText(command, name);
    return `--${name} ${example}`;
  });
  return ["example:", program.admin, words, ...options].join(" ");
}

function synopsis(command: Command): string {
  const { words, required, optional, flags = [] } = command;
  const all = [...required, ...optional, ...flags].map((name) => {
    const text = option(command, name);
    return required.includes(name) ? text : `[${text}]`;
  });
  return [words, ...all].join(" ");
}

function option(command: Command, name: string): string {
  if (command.flags?.includes(name)) return `--${name}`;
  return `--${name} ${optionText(command, name).value ?? "VALUE"}`;
}

function columns(rows: readonly (readonly [string, string])[], widthMin = 0): string {
  const width = Math.max(widthMin, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join("\n");
}
