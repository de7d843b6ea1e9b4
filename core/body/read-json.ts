import { isUtf8 } from "node:buffer";
import { isObject, JSON_MAX, type JsonObject } from "../process/json.ts";
import { scanJson } from "../process/json-scan.ts";
import { RawJson } from "../process/raw-json.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { ARGUMENTS, namesAt, RequestBody, textOf } from "./request-body.ts";

/**
 * Reads a JSON body. Returns it, or the refusal that says what is wrong. The body keeps the bytes.
 *
 * A provider may take another of two fields with the same name than the one that is priced here. So a name that comes
 * twice at the top is refused; inside of a field, core writes the body again, with the one that was read. So it does with
 * numbers of more digits than a parser keeps: the bound counts each number alike, and a provider may read all digits.
 * Only in the arguments of tools, numbers stay as they came, since a tool may take them for an id, and names keep their order.
 */
export function readJson(
  bytes: Buffer,
  conversation?: string,
  isWritten = false,
): RequestBody | Refusal {
  if (!isUtf8(bytes))
    return refuse.badRequest("The request body is not UTF-8: send JSON in UTF-8.");
  const scan = scanJson(bytes);
  if (scan === "levels" || scan === "values") return EXCESS[scan];
  if (scan === "malformed") return notJson(bytes);
  const { places, hasLongNumber, hasUnusual } = scan;
  let names: readonly string[];
  let fields: unknown;
  let kept: unknown;
  try {
    names = namesAt(bytes, places);
    const mayKeep = hasUnusual && conversation !== undefined && names.includes(conversation);
    kept = mayKeep ? RawJson.parse(textOf(bytes), [conversation, ...ARGUMENTS]) : undefined;
    fields = kept ?? JSON.parse(textOf(bytes));
  } catch {
    return notJson(bytes);
  }
  if (!isObject(fields)) return refuse.badRequest("The request body must be a JSON object.");
  const hasTwice = namesIn(fields) !== scan.names;
  const twice = hasTwice ? names.find((name, at) => names.indexOf(name) !== at) : undefined;
  if (twice !== undefined) {
    const field = /^\w*/.exec(twice)?.[0] ?? "";
    return refuse.badRequest(`${field}: sent twice; send each field once`, field);
  }
  if (!isWritten && (hasTwice || hasLongNumber)) {
    const read = kept ?? JSON.parse(textOf(bytes));
    return readJson(Buffer.from(RawJson.write(read)), conversation, true);
  }
  return RequestBody.passed(bytes, places, names, fields, kept !== undefined);
}

/** The parser's own message quotes the text, which must not be in an error or a log. */
function notJson(bytes: Buffer): Refusal {
  return refuse.badRequest(
    bytes.length === 0
      ? "The request body is empty; JSON is required."
      : "The request body is not valid JSON.",
  );
}

const EXCESS = {
  levels: refuse.badRequest(
    `The request body is nested too deeply: the limit is ${JSON_MAX.levels} levels.`,
  ),
  values: refuse.tooLarge(
    `The request body has too many names and values: the limit is ${JSON_MAX.values}.`,
  ),
};

/** Counts the names of all objects. Of a name that comes twice in one object, the parser has kept one. */
function namesIn(tree: JsonObject): number {
  let count = 0;
  const stack: object[] = [tree];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const entry of node) if (typeof entry === "object" && entry !== null) stack.push(entry);
      continue;
    }
    if (node instanceof RawJson) continue;
    const object = node as JsonObject;
    for (const name in object) {
      count++;
      const value = object[name];
      if (typeof value === "object" && value !== null) stack.push(value);
    }
  }
  return count;
}
