import { readFile } from "node:fs/promises";
import { email, line, messageOf, parseVnd, v } from "../../../core/plugin/index.ts";
import { ambiguityOf } from "../ambiguous-amount.ts";
import { EXIT, Failure } from "./failure.ts";

const BYTES_MAX = 4 * 1024 * 1024;
const ROWS_MAX = 10_000;
const PROBLEMS_SHOWN = 20;
const COLUMNS = ["email", "credit", "note"] as const;
const COLUMNS_TEXT = "a first line with the columns email, credit and note, separated by , or ;";

/** A row of a file of accounts. */
export interface AccountRow {
  /** Of the file, from 1. */
  readonly line: number;
  readonly email: string;
  /** Decimal text in đ, above 0; undefined for no credit. */
  readonly credit: string | undefined;
  /** Undefined if it is empty. */
  readonly note: string | undefined;
}

type Cells = Readonly<Partial<Record<(typeof COLUMNS)[number], string>>>;

/** Reads a CSV file of accounts in UTF-8. Throws a Failure that names every wrong line, so that a file is right as a whole. */
export async function readAccountFile(path: string): Promise<AccountRow[]> {
  const fail = (why: string) => new Failure(EXIT.usage, `cannot import ${path}: ${why}`);
  const [head, ...lines] = linesOf(await textOf(path, fail));
  const names = head?.cells.map((name) => name.trim().toLowerCase()) ?? [];
  const isRight = names.includes("email") && names.every((name, n) => isColumn(name, n, names));
  if (!isRight) throw fail(`expected ${COLUMNS_TEXT}; only email is required`);
  const filled = lines.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  if (filled.length > ROWS_MAX) throw fail(`it has more than ${ROWS_MAX} rows; split it`);
  const problems: string[] = [];
  const rows = filled.flatMap(({ line, cells }) => {
    if (cells.length > names.length) {
      problems.push(`line ${line}: more cells than columns; quote a text that has a separator`);
      return [];
    }
    const row = rowOf(line, Object.fromEntries(names.map((name, n) => [name, cells[n]?.trim()])));
    if (typeof row !== "string") return [row];
    problems.push(`line ${line}: ${row}`);
    return [];
  });
  if (problems.length === 0) return rows;
  const shown = problems.slice(0, PROBLEMS_SHOWN).join("\n");
  throw fail(
    `${problems.length} of ${filled.length} rows are wrong; nothing was changed\n${shown}`,
  );
}

async function textOf(path: string, fail: (why: string) => Failure): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fail(messageOf(error));
  });
  if (bytes.length > BYTES_MAX) throw fail("it has more than 4 MiB; split it");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw fail("it is not UTF-8; save it as CSV UTF-8");
  }
}

function isColumn(name: string, at: number, names: readonly string[]): boolean {
  return COLUMNS.some((column) => column === name) && names.indexOf(name) === at;
}

/** A cell, as RFC 4180 has it, and what ends it. */
const CELL = {
  ",": /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y,
  ";": /(?:"((?:[^"]|"")*)"|([^";\r\n]*))(;|\r?\n|$)/y,
};

/** Returns the lines of a CSV text. The first one decides which separator it has. */
function linesOf(text: string): { readonly line: number; readonly cells: string[] }[] {
  const cell = CELL[/^[^\r\n]*;/.test(text) ? ";" : ","];
  const lines: { readonly line: number; readonly cells: string[] }[] = [];
  let cells: string[] = [];
  let [line, starts] = [1, 1];
  cell.lastIndex = 0;
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text);
    if (!found) throw new Failure(EXIT.usage, `line ${line}: a " must enclose a whole cell`);
    const [whole, quoted, plain = "", end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split("\n").length - 1;
    if (end === "," || end === ";") continue;
    lines.push({ line: starts, cells });
    cells = [];
    starts = line;
  }
  if (cells.length > 0) lines.push({ line: starts, cells });
  return lines;
}

const noteText = line(500, "a note of at most 500 characters on one line");

/** Returns what is wrong with a row as text. */
function rowOf(at: number, { email: address, credit = "", note = "" }: Cells): AccountRow | string {
  const read = v.safeParse(email, address ?? "");
  if (!read.success) return `"${address}" is no e-mail address`;
  const ambiguity = ambiguityOf(credit);
  if (ambiguity !== undefined) return ambiguity;
  const microVnd = credit === "" ? 0n : parseVnd(credit);
  if (microVnd === undefined || microVnd < 0n) return `"${credit}" is no amount in đ`;
  if (note !== "" && !v.safeParse(noteText, note).success) return "the note is too long";
  return {
    ...{ line: at, email: read.output },
    credit: microVnd === 0n ? undefined : credit,
    note: note === "" ? undefined : note,
  };
}
