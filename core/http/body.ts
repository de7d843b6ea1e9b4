import type { FormPart } from "../contract/call.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import { formParts } from "../listener/index.ts";
import type { JsonObject } from "../process/json.ts";

/** Maximum size of a text field of a form. A longer part must be a file. */
const FIELD_BYTES_MAX = 1_048_576;
/** Maximum parts of a form: image edits have up to 16 images and some twenty fields. */
const FORM_PARTS_MAX = 100;

/** Counts boundaries by native search, before the parts are parsed. */
function hasTooManyParts(bytes: Buffer, type: string): boolean {
  const boundary = /boundary="?([^";]+)/.exec(type)?.[1];
  if (boundary === undefined) return false;
  const line = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = bytes.indexOf(line); at !== -1; at = bytes.indexOf(line, at + line.length)) {
    // The last boundary ends the form.
    if (++parts > FORM_PARTS_MAX + 1) return true;
  }
  return false;
}

/** Fields of a form that may be files, and images given as text of any length. */
const FILE_FIELDS = new Set(["image", "image_url", "reference_image", "ref_image", "mask"]);

/**
 * Parses a multipart body. Returns its files, and its text fields as JSON would have them. Refuses
 * what would not be read the same way here and by a provider: a field that comes twice, as a list,
 * or as a file.
 */
export function parseFormBody(
  bytes: Buffer,
  contentType: string,
): { form: FormPart[]; fields: JsonObject } | Refusal {
  // The parser is case-sensitive; HTTP is not.
  const type = contentType.replace(/^multipart\/form-data|\bboundary=/gi, (name) =>
    name.toLowerCase(),
  );
  if (hasTooManyParts(bytes, type)) {
    return refuse.tooLarge(`The form has too many parts: the limit is ${FORM_PARTS_MAX}.`);
  }
  const parts = formParts(bytes, type);
  if (!parts) return refuse.badRequest("The request body is not valid multipart/form-data.");
  const form: FormPart[] = [];
  const fields: JsonObject = {};
  for (const part of parts) {
    const data = Buffer.from(part.data);
    const { name, filename, type } = part;
    const field = /^\w*/.exec(name)?.[0] ?? "";
    if (filename !== undefined) {
      if (!FILE_FIELDS.has(name.replace(/\[\]$/, ""))) {
        return refuse.badRequest(`${field}: must be text, not a file`, field);
      }
      form.push({ name, data, filename, ...(type && { type }) });
      continue;
    }
    if (name.includes("[")) {
      return refuse.badRequest(`${field}: send it once, under its own name without []`, field);
    }
    if (Object.hasOwn(fields, name)) {
      return refuse.badRequest(`${field}: sent twice; send each field once`, field);
    }
    if (data.length > FIELD_BYTES_MAX && !FILE_FIELDS.has(name)) {
      return refuse.badRequest(`${field}: must be at most ${FIELD_BYTES_MAX} bytes`, field);
    }
    const text = data.toString("utf8");
    fields[name] = /^\d{1,9}$/.test(text) ? Number(text) : text === "true" ? true : text;
  }
  return { form, fields };
}
