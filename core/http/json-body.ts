import { isUtf8 } from "node:buffer";
import { JSON_LEVELS_MAX, JSON_VALUES_MAX } from "../process/json.ts";
import { NO_NAMES, scanJson } from "../process/json-scan.ts";
import { Outline, SHORT_BYTES_MAX } from "../process/outline.ts";
import { TEXT_FIELDS } from "../process/text-fields.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

/**
 * Reads a JSON body. Returns its outline, or the refusal that says what is wrong. The outline keeps the bytes.
 *
 * A provider may take another of two fields with the same name than the one that is priced here. So a name that comes
 * twice at the top is refused; inside of a field, core writes the body again, with the one that was read. So it does with
 * numbers of more digits than a parser keeps: the bound counts each number alike, and a provider may read all digits.
 */
export function readJsonBody(bytes: Buffer): Outline | Refusal {
  if (!isUtf8(bytes))
    return refuse.badRequest("The request body is not UTF-8: send JSON in UTF-8.");
  const scan = scanJson(bytes, bytes.length <= SHORT_BYTES_MAX ? NO_NAMES : TEXT_FIELDS);
  if (scan === "levels" || scan === "values") return EXCESS[scan];
  const outline = scan === "malformed" ? undefined : Outline.of(bytes, scan);
  if (!outline) {
    // The parser's own message quotes the text, which must not be in an error or a log.
    return refuse.badRequest(
      bytes.length === 0
        ? "The request body is empty; JSON is required."
        : "The request body is not valid JSON.",
    );
  }
  if (!(outline instanceof Outline)) {
    return refuse.badRequest("The request body must be a JSON object.");
  }
  const repeated = outline.repeatsNames ? outline.repeatedName : undefined;
  if (repeated !== undefined) {
    const field = /^\w*/.exec(repeated)?.[0] ?? "";
    return refuse.badRequest(`${field}: sent twice; send each field once`, field);
  }
  if (outline.repeatsNames || outline.hasLongNumber) outline.rewrite();
  return outline;
}

const EXCESS = {
  levels: refuse.badRequest(
    `The request body is nested too deeply: the limit is ${JSON_LEVELS_MAX} levels.`,
  ),
  values: refuse.tooLarge(
    `The request body has too many names and values: the limit is ${JSON_VALUES_MAX}.`,
  ),
};
