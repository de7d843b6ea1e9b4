import { createHash } from "node:crypto";

/**
 * The canonical form of a statement, version 1: the bytes of its CSV file. The README says how they are made, so that
 * anyone can. Nothing here needs the gateway: `verify.ts` runs on the customer's machine.
 */
export const FORMAT = "tollgate-statement/1";

const COLUMNS = "row,day,time_vietnam,kind,model,calls,amount_vnd,balance_vnd,note";
const COLUMN_COUNT = COLUMNS.split(",").length;
/** Excel reads a file as UTF-8 only if it starts with this. */
const BYTE_ORDER_MARK = "\ufeff";
const LINE_END = "\r\n";

/** The decimal mark of a file. With `comma`, semicolons separate the fields; the digest is that of `point`. */
export type Decimal = "point" | "comma";

/** Amounts are decimal strings of đ. */
export interface Head {
  readonly account_id: string;
  /** `2026-11` */
  readonly month: string;
  readonly number: number;
  /** The digest of the statement before; null if this is the first. */
  readonly previous_digest: string | null;
  readonly opening_vnd: string;
  readonly closing_vnd: string;
}

export interface Row {
  readonly day: string;
  /** `2026-11-02 10:00:00` in Vietnam; null for charges. */
  readonly time_vietnam: string | null;
  readonly kind: string;
  /** Of charges; null for a movement. */
  readonly model: string | null;
  readonly calls: number | null;
  readonly amount_vnd: string;
  readonly balance_vnd: string;
  /** The code of a transfer's order, or why the operator moved money. */
  readonly note: string | null;
}

/** The fields of a line, in the order of the columns; texts as a spreadsheet may have them. */
export type Fields = readonly string[];

/** Returns the byte order mark and the names of the columns. */
export function headLine(decimal: Decimal = "point"): string {
  return BYTE_ORDER_MARK + COLUMNS.replaceAll(",", separatorOf(decimal)) + LINE_END;
}

export function openingFields({
  account_id: account,
  month,
  number,
  previous_digest: previous,
  opening_vnd: opening,
}: Omit<Head, "closing_vnd">): Fields {
  const note = `${FORMAT} account=${account} month=${month} number=${number} previous=${previous ?? "none"}`;
  return ["0", `${month}-01`, "", "opening", "", "", "", opening, note];
}

/** Returns the fields of the row at a place, counted from 1. */
export function rowFields(place: number, row: Row): Fields {
  return [
    ...[String(place), row.day, row.time_vietnam ?? "", row.kind, inert(row.model ?? "")],
    ...[String(row.calls ?? ""), row.amount_vnd, row.balance_vnd, inert(row.note ?? "")],
  ];
}

export function closingFields(
  place: number,
  { month, closing_vnd: closing }: Pick<Head, "month" | "closing_vnd">,
): Fields {
  const last = new Date(Date.parse(`${month}-01`));
  last.setUTCMonth(last.getUTCMonth() + 1, 0);
  return [String(place), last.toISOString().slice(0, 10), "", "closing", "", "", "", closing, ""];
}

/** Returns a line of the file. */
export function lineOf(fields: Fields, decimal: Decimal = "point"): string {
  const shown = decimal === "point" ? fields : withCommas(fields);
  return shown.map(quoted).join(separatorOf(decimal)) + LINE_END;
}

/** Adds lines in their order, and returns their SHA-256 as 64 hexadecimal digits. */
export class StatementDigest {
  private readonly hash = createHash("sha256").update(headLine());

  add(fields: Fields): void {
    this.hash.update(lineOf(fields));
  }

  end(): string {
    return this.hash.digest("hex");
  }
}

/**
 * Reads a CSV file, also one that a spreadsheet has written again, with other line ends or quotes. Returns the lines without
 * the names of the columns, or a sentence that says why it is no statement.
 */
export function readCsv(text: string): Fields[] | string {
  const content = text.replace(BYTE_ORDER_MARK, "");
  const decimal = /^"?row"?;/.test(content) ? "comma" : "point";
  const lines = splitCsv(content, separatorOf(decimal));
  const [names = [], ...rest] = lines;
  if (names.join(",") !== COLUMNS) return `its first line is not ${COLUMNS}`;
  const odd = rest.findIndex((fields) => fields.length !== COLUMN_COUNT);
  if (odd >= 0) return `line ${odd + 2} has ${rest[odd]?.length} fields instead of ${COLUMN_COUNT}`;
  return decimal === "point" ? rest : rest.map(withPoints);
}

const [AMOUNT, BALANCE] = [6, 7] as const;

function withCommas(fields: Fields): Fields {
  return fields.map((field, at) =>
    at === AMOUNT || at === BALANCE ? field.replace(".", ",") : field,
  );
}

function withPoints(fields: Fields): Fields {
  return fields.map((field, at) =>
    at === AMOUNT || at === BALANCE ? field.replace(",", ".") : field,
  );
}

function separatorOf(decimal: Decimal): string {
  return decimal === "comma" ? ";" : ",";
}

/**
 * A spreadsheet runs a text that begins with =, +, -, @, a tab or a carriage return as a formula. An apostrophe in front
 * prevents it, also behind a separator, at which a spreadsheet in another language splits the text.
 */
function inert(text: string): string {
  return text.replace(/(^|[,;\t\r\n])(?=[ ]*[=+\-@]|^[\t\r])/g, "$1'");
}

function quoted(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Splits a CSV into the fields of its lines, by RFC 4180. */
function splitCsv(text: string, separator: string): string[][] {
  const lines: string[][] = [];
  let fields: string[] = [];
  const pattern = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r?\\n|$)`,
    "gy",
  );
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    // A quote inside a field without quotes: the rest is one field, which no check takes.
    if (!match) return [...lines, [...fields, text]];
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === separator && pattern.lastIndex < text.length) continue;
    if (match[3] === separator) fields.push("");
    lines.push(fields);
    fields = [];
  }
  return lines.filter((line) => line.length > 1 || line[0] !== "");
}
