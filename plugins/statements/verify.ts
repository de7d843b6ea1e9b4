#!/usr/bin/env node
import { readFileSync, realpathSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  closingFields,
  type Fields,
  FORMAT,
  type Head,
  openingFields,
  type Row,
  readCsv,
  rowFields,
  StatementDigest,
} from "./canonical.ts";

const USAGE = `usage: verify-statement FILE --digest DIGEST [--previous DIGEST]

FILE is a statement as CSV or JSON. DIGEST is the one in the mail about it; --previous is that of the mail about the
statement before. Nothing else is needed: no gateway, no database, no network. Exits with 1 if anything is wrong.`;

const MICRO_VND_PER_VND = 1_000_000n;
/** More are of no use: one wrong amount makes at most two. */
const PROBLEMS_MAX = 20;
const NOTE =
  /^(\S+) account=([0-9a-f-]{36}) month=(\d{4}-\d\d) number=(\d+) previous=(none|[0-9a-f]{64})$/;
/** The kinds of rows, and the sums in a JSON file. */
const SUMS: Readonly<Record<string, string>> = {
  transfer: "transfers_vnd",
  credit: "credits_vnd",
  bonus: "bonuses_vnd",
  voucher: "vouchers_vnd",
  taken_back: "taken_back_vnd",
  refund: "refunds_vnd",
  adjustment: "adjustments_vnd",
  charges: "charges_vnd",
};

/** The result of a check. `problems` is empty if the statement is right. */
interface Verified {
  readonly problems: readonly string[];
  /** Of the file; undefined if it is no statement. */
  readonly digest?: string;
  readonly month?: string;
  readonly number?: number;
  readonly rows?: number;
}

/**
 * Checks the text of a statement's file: its sums, row by row, its digest, and that of the statement before. `digest` and
 * `previous` come from mails, and may have spaces.
 */
export function verifyStatement(
  text: string,
  given: { readonly digest?: string | undefined; readonly previous?: string | undefined },
): Verified {
  const file = readFile(text);
  if (typeof file === "string") return { problems: [`this is no statement: ${file}`] };
  const { lines, stated } = file;
  const [opening = [], ...others] = lines;
  const note = NOTE.exec(opening[8] ?? "");
  if (opening[3] !== "opening" || !note)
    return { problems: ["this is no statement: its first row is not the opening balance"] };
  const [, format, , month = "", number, previous] = note;
  if (format !== FORMAT)
    return { problems: [`the format ${format} is newer than this program, which knows ${FORMAT}`] };
  const hash = new StatementDigest();
  for (const line of lines) hash.add(line);
  const digest = hash.end();
  const problems = sumsOf(opening, others, month, stated.totals);
  const areSumsRight = problems.length === 0;
  if (stated.digest !== undefined && stated.digest !== digest)
    problems.push(`the file says that its digest is ${stated.digest}; its rows have ${digest}`);
  if (given.digest !== undefined && plain(given.digest) !== digest)
    problems.push(
      `the digest of the mail is ${plain(given.digest)}; the file has ${digest}: ` +
        (!areSumsRight
          ? "the file was changed after the mail"
          : "its sums are right, so a text, a day, or several amounts were changed after the mail, or the digest was typed wrong"),
    );
  if (given.previous !== undefined && plain(given.previous) !== previous)
    problems.push(
      `the digest of the mail before is ${plain(given.previous)}; the file follows the statement ${previous}: ` +
        "a statement between them or before was changed",
    );
  const found = { digest, month, number: Number(number), rows: Math.max(0, others.length - 1) };
  return { ...found, problems: problems.slice(0, PROBLEMS_MAX) };
}

interface StatementFile {
  readonly lines: readonly Fields[];
  /** The digest and the sums that a JSON file has beside its rows. */
  readonly stated: { readonly digest?: string; readonly totals?: Readonly<Record<string, string>> };
}

function readFile(text: string): StatementFile | string {
  if (!/^\ufeff?\s*\{/.test(text)) {
    const lines = readCsv(text);
    return typeof lines === "string" ? lines : { lines, stated: {} };
  }
  try {
    const json = JSON.parse(text.replace("\ufeff", "")) as Head & {
      readonly digest: string;
      readonly cut?: boolean;
      readonly rows: readonly Row[];
      readonly totals?: Readonly<Record<string, string>>;
    };
    if (json.cut === true) return "it lacks rows; get the CSV file";
    const { rows, digest, totals } = json;
    const lines = [
      openingFields(json),
      ...rows.map((row, at) => rowFields(at + 1, row)),
      closingFields(rows.length + 1, json),
    ];
    return { lines, stated: { digest, ...(totals && { totals }) } };
  } catch {
    return "its JSON cannot be read";
  }
}

/** Adds up the rows. Names each row whose balance does not follow from the one before. */
function sumsOf(
  opening: Fields,
  lines: readonly Fields[],
  month: string,
  totals: Readonly<Record<string, string>> | undefined,
): string[] {
  const problems: string[] = [];
  const rows = lines.slice(0, -1);
  const closing = lines.at(-1) ?? [];
  const sums = new Map<string, bigint>();
  let balance = microOf(opening[7]) ?? 0n;
  if (microOf(opening[7]) === undefined) problems.push("the opening balance is no amount");
  for (const [at, fields] of rows.entries()) {
    const [place, day = "", time, kind = "", model] = fields;
    const name = `row ${at + 1} (${[day, time?.slice(11), kind, model].filter(Boolean).join(" ")})`;
    const [amount, after] = [microOf(fields[6]), microOf(fields[7])];
    if (place !== String(at + 1)) problems.push(`${name} is numbered ${place}: a row is missing`);
    if (!day.startsWith(month)) problems.push(`${name} is not of ${month}`);
    if (!(kind in SUMS)) problems.push(`${name}: there is no kind ${kind}`);
    if (amount === undefined || after === undefined) {
      problems.push(`${name}: its amount or balance is no amount`);
      continue;
    }
    if (balance + amount !== after)
      problems.push(
        `${name}: ${vndOf(balance)} + ${vndOf(amount)} = ${vndOf(balance + amount)}, but the balance after it is ${vndOf(after)}`,
      );
    balance = after;
    const sum = SUMS[kind] ?? kind;
    sums.set(sum, (sums.get(sum) ?? 0n) + amount);
  }
  if (closing[3] !== "closing") problems.push("the last row is not the closing balance");
  else if (microOf(closing[7]) !== balance)
    problems.push(
      `the closing balance is ${closing[7]}, but the balance after the last row is ${vndOf(balance)}`,
    );
  for (const name of totals ? Object.values(SUMS) : []) {
    const sum = sums.get(name) ?? 0n;
    if (microOf(totals?.[name]) !== sum)
      problems.push(`totals.${name} is ${totals?.[name]}, but the rows add up to ${vndOf(sum)}`);
  }
  return problems;
}

function microOf(text: string | undefined): bigint | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text ?? "");
  if (!match) return undefined;
  const micro =
    BigInt(match[2] ?? "") * MICRO_VND_PER_VND + BigInt((match[3] ?? "").padEnd(6, "0"));
  return match[1] === "-" ? -micro : micro;
}

function vndOf(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const fraction = (size % MICRO_VND_PER_VND).toString().padStart(6, "0").replace(/0+$/, "");
  return `${micro < 0n ? "-" : ""}${size / MICRO_VND_PER_VND}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Returns a digest as it was typed, without spaces and in lower case. */
function plain(digest: string): string {
  return digest.replace(/[\s:-]/g, "").toLowerCase();
}

/** Runs the command. Returns its exit status. */
function main(given: readonly string[]): number {
  let text: string;
  let values: { digest?: string; previous?: string };
  try {
    const options = { digest: { type: "string" }, previous: { type: "string" } } as const;
    const read = parseArgs({ args: [...given], options, allowPositionals: true });
    const [file, ...more] = read.positionals;
    if (file === undefined || more.length > 0) throw new Error("name one file");
    values = read.values;
    text = readFileSync(file, "utf8");
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  const { problems, digest, month, number, rows } = verifyStatement(text, values);
  for (const problem of problems) console.log(`wrong: ${problem}`);
  if (problems.length > 0) return 1;
  console.log(`statement ${number}, ${month}: all sums of its ${rows} rows are right`);
  console.log(`digest ${digest}`);
  if (values.digest === undefined)
    console.log(
      "compare it with the mail, or add --digest: a file agrees with itself however it was changed",
    );
  else console.log("it is the one of the mail");
  if (values.previous !== undefined) console.log("it follows the statement of the mail before");
  return 0;
}

// npm starts it by a link.
const [, started] = process.argv;
if (started !== undefined && import.meta.filename === realpathSync(started))
  process.exitCode = main(process.argv.slice(2));
