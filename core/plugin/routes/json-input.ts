import * as v from "valibot";
import { type Refusal, refuse } from "../../wire/refusal.ts";

const EMAIL = "an e-mail address of at most 254 characters";

/** An e-mail address in lower case, as accounts have it. */
export const email = v.pipe(
  v.string(EMAIL),
  v.trim(),
  v.toLowerCase(),
  v.maxLength(254, EMAIL),
  v.email(EMAIL),
);

/**
 * Returns the JSON body of a request as the schema transforms it, or a 400 that names the field.
 */
export function readBody<const T extends v.GenericSchema>(
  schema: T,
  body: Buffer,
): v.InferOutput<T> | Refusal {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return refuse.badRequest(
      "The body is not JSON: send an object, with content-type application/json.",
    );
  }
  return read(schema, value, "The body");
}

/**
 * Returns the query of a request as the schema transforms it, or a 400. Of a repeated name, the
 * last value counts.
 */
export function readQuery<const T extends v.GenericSchema>(
  schema: T,
  query: URLSearchParams,
): v.InferOutput<T> | Refusal {
  return read(schema, Object.fromEntries(query), "The query");
}

function read<const T extends v.GenericSchema>(
  schema: T,
  value: unknown,
  whole: string,
): v.InferOutput<T> | Refusal {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const key = issue.path?.[0]?.key;
  if (key === undefined) return refuse.badRequest(`${whole} must be ${issue.message}.`);
  const param = String(key).slice(0, 64);
  if (issue.expected === "never") {
    return refuse.badRequest(`${param}: unknown field; use ${issue.message}.`, param);
  }
  return refuse.badRequest(`${param}: expected ${issue.message}.`, param);
}

/** Text on one line: no control characters, and nothing that UTF-8 cannot encode. */
export function line(charactersMax: number, expected: string) {
  return v.pipe(
    v.string(expected),
    v.trim(),
    v.maxLength(charactersMax, expected),
    v.regex(/^\P{C}+$/u, expected),
  );
}
