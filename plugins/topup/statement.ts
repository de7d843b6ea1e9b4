import { hash } from "node:crypto";
import { beginsAsDay, readBankTime } from "./bank-time.ts";
import { codesIn } from "./code.ts";
import { type CsvRow, readCsv, type Separator } from "./csv.ts";
import { textOf } from "./notification.ts";
import type { Settings } from "./options.ts";
import { isAccount } from "./report.ts";
import { decimalMarkOf, readAmount } from "./statement-amount.ts";
import { accountIn, type Columns, columnsOf, folded } from "./statement-columns.ts";
import type { NewTransfer } from "./transfers.ts";

export interface StatementRow {
  /** In the file, counted from 1. */
  readonly line: number;
  readonly report: NewTransfer;
}

/** The incoming transfers of a statement, and what else it has. */
interface Statement {
  readonly rows: readonly StatementRow[];
  readonly outgoing: number;
  readonly otherAccounts: number;
  /** Lines below the header without a date, such as sums. */
  readonly skippedLines: readonly number[];
}

const SEPARATORS: readonly Separator[] = [";", ",", "\t"];
const HEADER_ROWS_MAX = 40;
const ROWS_MAX = 5_000;
const DAY_MS = 86_400_000;
const IN = new Set(["in", "tien vao", "co", "credit", "c", "cr", "nhan tien"]);
const OUT = new Set(["out", "tien ra", "no", "debit", "d", "dr", "chuyen tien"]);

/**
 * Reads a bank's statement or SePay's export as CSV: columns by the names in its header, which lines about the account may
 * precede. Returns a sentence that says what to do if any row is not clear: then none counts.
 */
export function readStatement(
  csv: string,
  { bank, main_account_number = bank.account_number, order_prefix }: Settings,
  now: Date,
): Statement | string {
  const found = tableIn(csv.replace(/^\ufeff/, ""));
  if (!found) {
    return "The file has no header with the columns of a statement: a day, an amount (credit), and a content or a reference.";
  }
  const { above, columns, body } = found;
  const isBank = (account: string | undefined) => isAccount(account, bank.account_number);
  const isOurs = (account: string | undefined) =>
    isBank(account) || isAccount(account, main_account_number);
  const named = above.flatMap(({ cells }) => accountIn(cells) ?? []);
  const isNamed = [...named, ...body.flatMap(({ cells }) => sectionIn(cells, columns) ?? [])].some(
    isOurs,
  );
  const given = body.flatMap(({ cells }) => accountsIn(cells, columns));
  // Of a statement of our account, the column is that of the payers.
  const arePayers = !given.some(isOurs);
  if (named.length > 0 && !isNamed) {
    return `The statement is of the account ${named[0]}; customers transfer to ${bank.account_number}.`;
  }
  if (given.length > 0 && arePayers && !isNamed) {
    return `The column of accounts has ${given[0]}, but nowhere ${bank.account_number}; if it is that of the payers, remove it.`;
  }
  if (body.length > ROWS_MAX) {
    return `The file has ${body.length} rows; import at most ${ROWS_MAX} at once, such as one month.`;
  }
  const mark = decimalMarkOf(body.flatMap((row) => amountsIn(row, columns)));
  if (mark === null) {
    return "The file has amounts with a decimal point and others with a decimal comma; write all in one way.";
  }
  const rows: StatementRow[] = [];
  const skippedLines: number[] = [];
  const occurrences = new Map<string, number>();
  let [outgoing, otherAccounts] = [0, 0];
  let isOurSection = named.length === 0 || named.some(isOurs);
  for (const { line, cells } of body) {
    const cell = (column: keyof Columns) => textOf(cells[columns[column] ?? -1]);
    const day = cell("date") ?? "";
    const time = readBankTime(day);
    if (time === undefined) {
      if (beginsAsDay(day) && hasAmount(cells, columns)) {
        return `Line ${line}: ${day} is no day that can be read; write it as 21/11/2026, or remove the line.`;
      }
      const section = sectionIn(cells, columns);
      if (section !== undefined) isOurSection = isOurs(section);
      skippedLines.push(line);
      continue;
    }
    const isLate = time !== null && Date.parse(time.day) > now.getTime() + DAY_MS;
    if (time === null || isLate) {
      return `Line ${line}: ${day} is no day of the past; days come before months, as in 21/11/2026.`;
    }
    const amount = incomingOf(cells, columns, mark);
    if (typeof amount === "string") return `Line ${line}: ${amount}.`;
    if (amount <= 0n) {
      outgoing++;
      continue;
    }
    const accounts = arePayers ? [] : accountsIn(cells, columns);
    // A row of the main account may be of another virtual one.
    const isRowOurs = accounts.length > 1 ? accounts.some(isBank) : accounts.every(isOurs);
    if (!isOurSection || !isRowOurs) {
      otherAccounts++;
      continue;
    }
    const content = cell("content");
    const facts = [bank.account_number, amount, cell("date"), cell("reference"), content].join(
      "\n",
    );
    const nth = (occurrences.get(facts) ?? 0) + 1;
    occurrences.set(facts, nth);
    const given = cell("id") ?? "";
    const id = /^\d{5,15}$/.test(given) ? given : `statement:${digest(facts)}:${nth}`;
    const texts = [cell("code"), cell("reference"), content].filter((text) => text !== null);
    rows.push({
      line,
      report: {
        id,
        incoming: true,
        amountMicroVnd: amount,
        bank: cell("bank") ?? bank.name,
        accountNumber: main_account_number,
        content,
        bankReference: cell("reference"),
        bankTime: cell("date"),
        bankDay: time.day,
        at: time.at,
        payload: Buffer.from(JSON.stringify(cells)),
        source: "import",
        hindrance: undefined,
        codes: codesIn(texts, order_prefix),
      },
    });
  }
  return { rows, outgoing, otherAccounts, skippedLines };
}

/** Returns the table below the header, and the lines above it. */
function tableIn(csv: string) {
  for (const separator of SEPARATORS) {
    const rows = readCsv(csv, separator);
    for (const [at, { cells }] of rows.slice(0, HEADER_ROWS_MAX).entries()) {
      const columns = columnsOf(cells);
      if (!columns) continue;
      return { above: rows.slice(0, at), columns, body: rows.slice(at + 1) };
    }
  }
  return undefined;
}

/** Returns the account that a line names if it is the heading of a section. */
function sectionIn(cells: readonly string[], { content }: Columns): string | undefined {
  const at = cells.findIndex((cell) => cell !== "");
  // A customer's text may go on in a line of its own.
  if (at === content) return undefined;
  const first = folded(cells[at] ?? "");
  return /^(?:(?:so |chu |ten )?tai khoan|stk|account)/.test(first) ? accountIn(cells) : undefined;
}

/** Returns the numbers in the columns of accounts. */
function accountsIn(cells: readonly string[], { account, subAccount }: Columns): string[] {
  return [account, subAccount].map((at) => cells[at ?? -1] ?? "").filter((text) => /\d/.test(text));
}

function hasAmount(cells: readonly string[], columns: Columns): boolean {
  const { credit, debit, amount } = columns;
  return [credit, debit, amount].some((at) => /[1-9]/.test(cells[at ?? -1] ?? ""));
}

function amountsIn({ cells }: CsvRow, { credit, debit, amount, balance }: Columns): string[] {
  return [credit, debit, amount, balance].flatMap((at) => cells[at ?? -1] ?? []);
}

/** Returns the amount that came in, in µđ; 0 or less if money went out. Or what is wrong with the row. */
function incomingOf(
  cells: readonly string[],
  columns: Columns,
  mark: "." | "," | undefined,
): bigint | string {
  const read = (column: keyof Columns) => readAmount(cells[columns[column] ?? -1] ?? "", mark);
  if (columns.credit !== undefined) {
    const [credit, debit] = [read("credit"), read("debit")];
    if ("problem" in credit) return credit.problem;
    if ("problem" in debit) return debit.problem;
    if (credit.microVnd > 0n && debit.microVnd !== 0n) return "it has a credit and a debit";
    return credit.microVnd;
  }
  const amount = read("amount");
  if ("problem" in amount) return amount.problem;
  const direction = folded(cells[columns.direction ?? -1] ?? "");
  if (OUT.has(direction)) return 0n;
  if (IN.has(direction) || amount.isSigned) return amount.microVnd;
  return "nothing says if the money came in or went out: the amount has no sign, and no column has in or out";
}

function digest(facts: string): string {
  return hash("sha256", facts, "hex").slice(0, 24);
}
