import { formatVnd, type Services } from "../../core/plugin/index.ts";
import { vietnamTime } from "../page-parts/vietnam-time.ts";
import {
  closingFields,
  type Decimal,
  FORMAT,
  type Head,
  headLine,
  lineOf,
  openingFields,
  type Row,
  rowFields,
  StatementDigest,
} from "./canonical.ts";
import { invoiceJson, type Terms, totalsJson } from "./invoice.ts";

type Months = Services["usage"]["months"];
export type ClosedStatement = NonNullable<Awaited<ReturnType<Months["find"]>>>;
type MonthStatement = Parameters<Months["close"]>[0];
type MonthRow =
  ReturnType<Months["rows"]> extends AsyncIterable<readonly (infer One)[]> ? One : never;

/** Returns the digest of a statement that is to be closed. Throws if its rows do not add up to the ledger's balances. */
export async function digestOf(months: Months, statement: MonthStatement): Promise<string> {
  const hash = new StatementDigest();
  const head = headOf(statement);
  hash.add(openingFields(head));
  let place = 1;
  for await (const rows of months.rows(statement, { mustAddUp: true }))
    for (const row of rows) hash.add(rowFields(place++, rowOf(row)));
  hash.add(closingFields(place, head));
  return hash.end();
}

/** Yields the CSV file of a statement, as it is in the database. With `point`, the digest is that of its bytes. */
export async function* csvOf(
  months: Months,
  statement: ClosedStatement,
  decimal: Decimal,
): AsyncGenerator<string> {
  const head = headOf(statement);
  yield headLine(decimal) + lineOf(openingFields(head), decimal);
  let place = 1;
  for await (const rows of months.rows(statement))
    yield rows.map((row) => lineOf(rowFields(place++, rowOf(row)), decimal)).join("");
  yield lineOf(closingFields(place, head), decimal);
}

/**
 * Yields the JSON of a statement: its rows, their sums by kind, and the data of an invoice. Rows after `rowsMax` are left out;
 * the sums are those of all.
 */
export async function* jsonOf(
  months: Months,
  statement: ClosedStatement,
  terms: Terms,
  rowsMax: number,
): AsyncGenerator<string> {
  const { digest, closedAt } = statement;
  const head = { format: FORMAT, ...headOf(statement), digest, closed_at: closedAt.toISOString() };
  yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
  const sums: Record<string, bigint> = {};
  let count = 0;
  for await (const rows of months.rows(statement)) {
    for (const { kind, amountMicroVnd } of rows) sums[kind] = (sums[kind] ?? 0n) + amountMicroVnd;
    const shown = rows
      .slice(0, Math.max(0, rowsMax - count))
      .map((row) => JSON.stringify(rowOf(row)));
    if (shown.length > 0) yield `${count > 0 ? "," : ""}${shown.join(",")}`;
    count += rows.length;
  }
  const invoice = invoiceJson(-((sums["charges"] ?? 0n) + (sums["refund"] ?? 0n)), terms);
  const end = { cut: count > rowsMax, row_count: count, totals: totalsJson(sums), invoice };
  yield `],${JSON.stringify(end).slice(1)}`;
}

/** Returns a statement without its rows, as APIs show it. */
export function summaryJson(statement: ClosedStatement): object {
  const { digest, closedAt } = statement;
  return { ...headOf(statement), digest, closed_at: closedAt.toISOString() };
}

function headOf(statement: MonthStatement): Head {
  const { accountId, month, number, previousDigest, openingMicroVnd, closingMicroVnd } = statement;
  return {
    account_id: accountId,
    month,
    number,
    previous_digest: previousDigest,
    opening_vnd: formatVnd(openingMicroVnd),
    closing_vnd: formatVnd(closingMicroVnd),
  };
}

function rowOf({
  day,
  at,
  kind,
  model,
  calls,
  amountMicroVnd,
  balanceMicroVnd,
  reason,
}: MonthRow): Row {
  const isCharges = kind === "charges";
  return {
    day,
    time_vietnam: at && vietnamTime(at),
    kind,
    model: isCharges ? model : null,
    calls: isCharges ? calls : null,
    amount_vnd: formatVnd(amountMicroVnd),
    balance_vnd: formatVnd(balanceMicroVnd),
    note: reason,
  };
}
