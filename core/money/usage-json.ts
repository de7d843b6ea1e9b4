import { formatVnd } from "../catalogue/amount.ts";
import { fieldsIn, type NamedField, type UsageRecord } from "./usage-fields.ts";

/** The API that shows a record: the operator's or the customer's. */
export type Api = "admin" | "api";

const fields: Readonly<Record<Api, readonly NamedField[]>> = {
  admin: fieldsIn("admin"),
  api: fieldsIn("api"),
};

/** Returns the fields of a record that one API shows. Amounts are decimal strings. */
export function usageJson(record: Partial<UsageRecord>, api: Api): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const field of fields[api]) json[field.json] = jsonValue(record[field.name]);
  return json;
}

function jsonValue(value: UsageRecord[keyof UsageRecord] | undefined): unknown {
  if (typeof value === "bigint") return formatVnd(value);
  if (value instanceof Date) return value.toISOString();
  return value;
}
