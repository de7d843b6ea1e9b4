import { fieldsIn, formatVnd, type Services, usageJson } from "../../core/plugin/index.ts";
import { CSV_MARK, csvFile, csvLine, type Decimal } from "../page-parts/browser/csv.ts";
import { vietnamTime } from "../page-parts/vietnam-time.ts";
import type { CallRecord } from "./call-record.ts";

/** All money of an account in a period. */
type Statement = Awaited<ReturnType<Services["usage"]["statement"]>>;

interface Column {
  readonly name: string;
  /** Returns what `csvLine` writes. `decimal`: for numbers within a text. */
  value(record: CallRecord, decimal: Decimal): unknown;
}

/** Fields of a record that become other columns than their JSON name and value. */
const ownColumns: Partial<Record<keyof CallRecord, readonly Column[]>> = {
  at: [
    { name: "time_utc", value: ({ at }) => at.toISOString() },
    { name: "time_vietnam", value: ({ at }) => vietnamTime(at) },
  ],
  keyId: [
    { name: "key_id", value: ({ keyId }) => keyId },
    { name: "key_name", value: ({ keyName }) => keyName },
  ],
  discountBps: [{ name: "discount_percent", value: ({ discountBps }) => discountBps / 100 }],
  factors: [
    {
      name: "factors",
      value: ({ factors }, decimal) =>
        Object.entries(factors ?? {})
          .map(([kind, factor]) => `${kind} × ${numberText(factor, decimal)}`)
          .join(" + "),
    },
  ],
  quantity: [
    {
      name: "quantity",
      value: ({ quantity }) => usageJson({ quantity }, "api")["quantity"] ?? 0,
    },
  ],
  discounts: [
    {
      name: "discounts",
      value: ({ discounts }, decimal) =>
        Object.entries(discounts ?? {})
          .map(([name, bps]) => `${name} ${numberText(bps / 100, decimal)}%`)
          .join(" + "),
    },
  ],
};

/** The columns of the export, in order. The page text `column.NAME` explains each. */
const columns: readonly Column[] = fieldsIn("csv").flatMap(({ name, json }) => {
  const field = name as keyof CallRecord;
  return ownColumns[field] ?? [{ name: json, value: (record) => exact(record[field]) }];
});

export const csvColumns: readonly string[] = columns.map(({ name }) => name);

/** RFC 4180 and Excel end lines with CRLF. */
const LINE_END = "\r\n";

/** Returns the byte order mark and the header line. */
export function csvHead(decimal: Decimal): string {
  return CSV_MARK + csvLine(csvColumns, decimal) + LINE_END;
}

/** Returns a statement as a CSV file; the opening balance is its first line. */
export function statementCsv(
  { openingMicroVnd, rows }: Statement,
  firstDay: string,
  decimal: Decimal,
): string {
  const opening = {
    ...{ day: firstDay, time_vietnam: null, kind: "opening", reason: null, calls: null },
    ...{ amount_vnd: null, balance_vnd: formatVnd(openingMicroVnd) },
  };
  const others = rows.map((row) => ({
    day: row.day,
    time_vietnam: row.at && vietnamTime(row.at),
    kind: row.kind,
    reason: row.reason,
    calls: row.kind === "charges" ? row.calls : null,
    amount_vnd: formatVnd(row.amountMicroVnd),
    balance_vnd: formatVnd(row.balanceMicroVnd),
  }));
  return csvFile([opening, ...others], opening, decimal);
}

/** Returns a call as one CSV line. */
export function csvRow(record: CallRecord, decimal: Decimal): string {
  const values = columns.map((column) => column.value(record, decimal));
  return csvLine(values, decimal, csvColumns) + LINE_END;
}

/** Amounts are written as text, since they have more digits than a number. */
function exact(value: CallRecord[keyof CallRecord]): unknown {
  return typeof value === "bigint" ? formatVnd(value) : value;
}

function numberText(number: number, decimal: Decimal): string {
  return decimal === "comma" ? String(number).replace(".", ",") : String(number);
}
