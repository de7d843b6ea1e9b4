import { fieldsIn, formatVnd, type Services, usageJson } from "../../core/plugin/index.ts";
import { type Decimal, inert } from "../page-parts/browser/csv.ts";
import { vietnamTime } from "../page-parts/vietnam-time.ts";
import type { CallRecord } from "./call-record.ts";

/** All money of an account in a period. */
type Statement = Awaited<ReturnType<Services["usage"]["statement"]>>;

interface Column {
  readonly name: string;
  text(record: CallRecord, style: Style): string;
}

interface Style {
  readonly separator: string;
  /** Writes the decimal mark of this style. */
  number(text: string): string;
}

/** Fields of a record that become other columns than their JSON name and value. */
const ownColumns: Partial<Record<keyof CallRecord, readonly Column[]>> = {
  at: [
    { name: "time_utc", text: ({ at }) => at.toISOString() },
    { name: "time_vietnam", text: ({ at }) => vietnamTime(at) },
  ],
  keyId: [
    { name: "key_id", text: ({ keyId }) => keyId },
    { name: "key_name", text: ({ keyName }) => csvText(keyName ?? "") },
  ],
  discountBps: [
    {
      name: "discount_percent",
      text: ({ discountBps }, { number }) => number(String(discountBps / 100)),
    },
  ],
  factors: [
    {
      name: "factors",
      text: ({ factors }, { number }) =>
        csvText(
          Object.entries(factors ?? {})
            .map(([kind, factor]) => `${kind} × ${number(String(factor))}`)
            .join(" + "),
        ),
    },
  ],
  quantity: [
    {
      name: "quantity",
      text: ({ quantity }, { number }) =>
        number(String(usageJson({ quantity }, "api")["quantity"] ?? 0)),
    },
  ],
  discounts: [
    {
      name: "discounts",
      text: ({ discounts }, { number }) => {
        const parts = Object.entries(discounts ?? {}).map(
          ([name, bps]) => `${name} ${number(String(bps / 100))}%`,
        );
        return csvText(parts.join(" + "));
      },
    },
  ],
};

/** The columns of the export, in order. The page text `column.NAME` explains each. */
const columns: readonly Column[] = fieldsIn("csv").flatMap(({ name, json }) => {
  const field = name as keyof CallRecord;
  return (
    ownColumns[field] ?? [{ name: json, text: (record, style) => fieldText(record[field], style) }]
  );
});

export const csvColumns: readonly string[] = columns.map(({ name }) => name);

/** Excel reads a file as UTF-8 only if it starts with this. */
const BYTE_ORDER_MARK = "\ufeff";
/** RFC 4180 and Excel end lines with CRLF. */
const LINE_END = "\r\n";

const POINT: Style = { separator: separatorOf("point"), number: (text) => text };
const COMMA: Style = {
  separator: separatorOf("comma"),
  number: (text) => text.replace(".", ","),
};

/** Returns the byte order mark and the header line. */
export function csvHead(decimal: Decimal): string {
  return BYTE_ORDER_MARK + csvColumns.join(separatorOf(decimal)) + LINE_END;
}

/** Returns a statement as a CSV file; the opening balance is its first line. */
export function statementCsv(
  { openingMicroVnd, rows }: Statement,
  firstDay: string,
  decimal: Decimal,
): string {
  const { separator, number } = styleOf(decimal);
  const amount = (microVnd: bigint) => number(formatVnd(microVnd));
  const lines = [
    ["day", "time_vietnam", "kind", "reason", "calls", "amount_vnd", "balance_vnd"],
    [firstDay, "", "opening", "", "", "", amount(openingMicroVnd)],
    ...rows.map((row) => [
      row.day,
      row.at ? vietnamTime(row.at) : "",
      row.kind,
      csvText(row.reason ?? ""),
      row.kind === "charges" ? String(row.calls) : "",
      amount(row.amountMicroVnd),
      amount(row.balanceMicroVnd),
    ]),
  ];
  return BYTE_ORDER_MARK + lines.map((fields) => fields.join(separator) + LINE_END).join("");
}

/** Returns a call as one CSV line. */
export function csvRow(record: CallRecord, decimal: Decimal): string {
  const style = styleOf(decimal);
  return columns.map((column) => column.text(record, style)).join(style.separator) + LINE_END;
}

function fieldText(value: CallRecord[keyof CallRecord], { number }: Style): string {
  if (value === null) return "";
  if (typeof value === "bigint") return number(formatVnd(value));
  if (typeof value === "number") return number(String(value));
  return csvText(String(value));
}

/** Returns `text` as a CSV field that no spreadsheet runs. */
export function csvText(text: string): string {
  const plain = inert(text);
  return /[",;\t\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function styleOf(decimal: Decimal): Style {
  return decimal === "comma" ? COMMA : POINT;
}

function separatorOf(decimal: Decimal): string {
  return decimal === "comma" ? ";" : ",";
}
