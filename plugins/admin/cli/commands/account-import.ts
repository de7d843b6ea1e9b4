import { setTimeout as delay } from "node:timers/promises";
import { arrayOf, objectOf, parseVnd } from "../../../../core/plugin/index.ts";
import { type AccountRow, readAccountFile } from "../account-file.ts";
import type { Client } from "../client.ts";
import { accountPath, type Command, given } from "../command.ts";
import { confirmCredits, MONEY_FLAGS } from "../confirm.ts";
import { EXIT, Failure } from "../failure.ts";
import { findAccount } from "../find-account.ts";
import { pluginCommands } from "../plugin-commands.ts";

const SHOWN_EVERY_ROWS = 100;
/** The gateway sends mails more slowly than it makes accounts: its queue takes 1,000. */
const FULL_WAIT_MS = 5_000;
const FULL_WAITS_MAX = 120;

/** The result of a row; with `--dry-run`, the one that it would have. */
interface Done {
  readonly line: number;
  readonly email: string;
  readonly account: "created" | "exists" | "repeated" | "failed";
  readonly credit_vnd: string | null;
  readonly credit: "credited" | "credited before" | null;
  readonly mail: string | null;
  readonly problem: string | null;
}

export const accountImportCommand: Command = {
  words: "account import",
  required: ["file", "reference"],
  optional: [],
  flags: ["dry-run", "no-mail", ...MONEY_FLAGS],
  options: {
    file: {
      value: "FILE.csv",
      about: "a first line with the columns email, credit (in đ) and note, separated by , or ;",
      example: "team.csv",
    },
    reference: {
      value: "TEXT",
      about: "names this import; each account gets its credit once under this name",
      example: "team-2026",
    },
    "dry-run": { about: "show what would happen, and change nothing" },
    "no-mail": { about: "send no mails" },
  },
  about:
    "make the accounts of a CSV file: credit each once, with its note as the reason that the customer sees, and mail those without a " +
    "password a link to set one. Run it again after a failure; nothing counts twice. Exit 1 if a row failed",
  run: async (client, { file = "", reference = "", ...flags }, ask) => {
    const rows = await readAccountFile(file);
    const isDry = flags["dry-run"] !== undefined;
    const credits = rows.map(({ credit = "" }) => parseVnd(credit) ?? 0n).filter((one) => one > 0n);
    const totalMicroVnd = credits.reduce((sum, one) => sum + one, 0n);
    if (!isDry) await confirmCredits(totalMicroVnd, credits.length, flags, ask);
    const mails = flags["no-mail"] === undefined && (await canMail(client));
    const seen = new Set<string>();
    const all: Done[] = [];
    for (const row of rows) {
      const isRepeated = seen.has(row.email);
      seen.add(row.email);
      const work = isDry ? planned : imported;
      all.push(
        isRepeated ? outcome(row, "repeated") : await tried(work, client, row, reference, mails),
      );
      if (all.length % SHOWN_EVERY_ROWS === 0)
        console.error(`${all.length} of ${rows.length} rows`);
    }
    const count = (has: (one: Done) => boolean) => all.filter(has).length;
    const failed = count(({ account }) => account === "failed");
    const summary = {
      ...(isDry && { dry_run: true }),
      created: count(({ account }) => account === "created"),
      credited: count(({ credit }) => credit === "credited"),
      mails: count(({ mail }) => mail === "queued"),
      failed,
      rows: all,
    };
    return { kind: "value", value: summary, exitCode: failed > 0 ? EXIT.refused : EXIT.ok };
  },
};

type Work = (client: Client, row: AccountRow, reference: string, mails: boolean) => Promise<Done>;

/** A row that the gateway refuses does not stop the others. */
async function tried(work: Work, ...given: Parameters<Work>): Promise<Done> {
  try {
    return await work(...given);
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error;
    return { ...outcome(given[1], "failed"), problem: error.message };
  }
}

/** Every step does nothing if it was done before. */
const imported: Work = async (client, row, reference, mails) => {
  const { email } = row;
  const known = await findAccount(client, email);
  const id = known ?? String(objectOf(await client.post("/accounts", { email }))?.["id"]);
  return {
    ...outcome(row, known === undefined ? "created" : "exists"),
    credit: await credited(client, id, row, reference),
    mail: mails ? await welcomed(client, id) : null,
  };
};

async function credited(
  client: Client,
  id: string,
  { credit, note }: AccountRow,
  reference: string,
): Promise<Done["credit"]> {
  if (credit === undefined) return null;
  const named = { reference: referenceOf(reference, id), ...given({ reason: note }) };
  const reply = await client.post(`${accountPath(id)}/credits`, { amount_vnd: credit, ...named });
  return objectOf(reply)?.["applied"] === true ? "credited" : "credited before";
}

const planned: Work = async (client, row, reference, mails) => {
  const id = await findAccount(client, row.email);
  const isCredited = id !== undefined && row.credit && (await hasMovement(client, id, reference));
  return {
    ...outcome(row, id === undefined ? "created" : "exists"),
    credit: row.credit === undefined ? null : isCredited ? "credited before" : "credited",
    mail: mails ? (id === undefined ? "queued" : "queued if there is no password") : null,
  };
};

function outcome({ line, email, credit }: AccountRow, account: Done["account"]): Done {
  const none = { credit: null, mail: null, problem: null };
  return { line, email, account, credit_vnd: credit ?? null, ...none };
}

/** One credit of an account counts once for each import. */
function referenceOf(reference: string, account: string): string {
  return `${reference} ${account}`;
}

async function hasMovement(client: Client, id: string, reference: string): Promise<boolean> {
  const wanted = referenceOf(reference, id);
  const statement = objectOf(await client.get(`${accountPath(id)}/ledger`));
  return arrayOf(statement?.["rows"]).some((row) => objectOf(row)?.["reference"] === wanted);
}

/** Returns false if no plugin of the gateway signs customers in. */
async function canMail(client: Client): Promise<boolean> {
  return (await pluginCommands(client)).some(({ words }) => words === "account welcome");
}

async function welcomed(client: Client, id: string): Promise<string> {
  for (let waits = 0; ; waits += 1) {
    const reply = objectOf(await client.post(`${accountPath(id)}/welcome`, {}));
    const mail = String(reply?.["mail"]);
    if (mail !== "queue_full" || waits === FULL_WAITS_MAX) return mail;
    await delay(FULL_WAIT_MS);
  }
}
