import { formatVnd } from "../catalogue/amount.ts";
import { ONE } from "../catalogue/price-factors.ts";
import { fieldsIn, type NamedField, type UsageRecord } from "../money/usage-fields.ts";

/** The API that shows a record: the operator's or the customer's. */
export type Api = "admin" | "api";

const fields: Readonly<Record<Api, readonly NamedField[]>> = {
  admin: fieldsIn("admin"),
  api: fieldsIn("api"),
};

/** Returns the fields of a record that one API shows. Amounts are decimal strings. */
export function usageJson(record: Partial<UsageRecord>, api: Api): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const { json: name, ...field } of fields[api]) json[name] = jsonValue(field, record);
  return json;
}

function jsonValue(
  { name, kind }: Omit<NamedField, "json">,
  record: Partial<UsageRecord>,
): unknown {
  const value = record[name];
  if (typeof value === "bigint") return formatVnd(value);
  if (value instanceof Date) return value.toISOString();
  return kind === "quantity" && typeof value === "number" ? value / ONE : value;
}
