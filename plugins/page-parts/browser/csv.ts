const NUMBER = /^-?\d+(?:\.\d+)?$/;
/** A spreadsheet runs a text that begins like this as a formula, and customers choose the names of keys. */
const FORMULA = /^[ \t\r\n]*[=+\-@]|^[\t\r]/;

/** Returns a line of a CSV file, without its end. Objects are written as JSON; null and undefined are empty. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(fieldOf).join(",");
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return quoted(JSON.stringify(value));
  if (typeof value !== "string" || NUMBER.test(value)) return String(value);
  return quoted(value.replace(FORMULA, "'$&"));
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
