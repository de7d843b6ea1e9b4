const NUMBER = /^-?\d+(?:\.\d+)?$/;
/** Fields with an amount, which is a text, as it has more digits than a number; `from` and `to` are those of a price. */
const AMOUNT = /^(?:.*_vnd|price|from|to)$/;
/** Spreadsheets read a file as UTF-8 if it begins with this. */
export const CSV_MARK = "\ufeff";

/** The decimal mark of a file. With `comma`, semicolons separate the fields. */
export type Decimal = "point" | "comma";

/** Returns rows as a CSV file: the fields of `like`, in its order. */
export function csvFile(
  rows: readonly object[],
  like: object = rows[0] ?? {},
  decimal: Decimal = "point",
): string {
  const names = Object.keys(like);
  const lines = rows.map((row) => {
    const fields: Readonly<Record<string, unknown>> = { ...row };
    return csvLine(
      names.map((name) => fields[name]),
      decimal,
      names,
    );
  });
  return CSV_MARK + [csvLine(names, decimal), ...lines, ""].join("\r\n");
}

/**
 * Returns a line of a CSV file, without its end. Objects are written as JSON; null and undefined are empty. `names`: those of
 * the values. A decimal comma is in numbers and amounts alone: a key may be called 1.5.
 */
export function csvLine(
  values: readonly unknown[],
  decimal: Decimal = "point",
  names: readonly string[] = [],
): string {
  const fields = values.map(fieldOf);
  if (decimal === "point") return fields.join(",");
  const isExact = (field: string, at: number) =>
    NUMBER.test(field) && (typeof values[at] === "number" || AMOUNT.test(names[at] ?? ""));
  return fields
    .map((field, at) => (isExact(field, at) ? field.replace(".", ",") : field))
    .join(";");
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return quoted(JSON.stringify(value));
  if (typeof value !== "string" || NUMBER.test(value)) return String(value);
  return quoted(inert(value));
}

/**
 * Returns a text that no spreadsheet runs as a formula: one that begins with =, +, -, @, a tab or a carriage return, and customers
 * choose the names of keys. An apostrophe in front prevents it, also behind a comma, a semicolon or a tab: a spreadsheet in
 * another language splits the text there, whatever is quoted.
 */
function inert(text: string): string {
  return text.replace(/(^|[,;\t\r\n])(?=[ ]*[=+\-@]|^[\t\r])/g, "$1'");
}

function quoted(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
