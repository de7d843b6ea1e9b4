import {
  type Call,
  files,
  formFields,
  objectOf,
  type Refusal,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import type { Place } from "./fetch-places.ts";
import { parseDataUrl } from "./media.ts";

export type FormPart = NonNullable<Call["form"]>[number];

/** Fields that clients use for the reference images. */
const IMAGE_FIELDS = ["image", "images", "image_url", "reference_image", "ref_image"] as const;
const MASK = "mask";
const FIELDS: ReadonlySet<string> = new Set([...IMAGE_FIELDS, MASK]);
const IMAGES_MAX = 16;
/** The same size as a client may send itself, by the default of `limits.body_mb`. */
const FETCHED_BYTES_MAX = 20 * 1_048_576;
const NO_IMAGE = "must be PNG, JPEG, WebP or GIF, as a file, a data URL, base64 or an http(s) URL";

/** A part of the form whose image is not fetched yet. */
interface ImageAddress {
  readonly name: string;
  readonly address: string;
  /** The name of the client's field, for error messages. */
  readonly field: string;
  readonly number: number;
}

/**
 * Makes the multipart form for image upstreams. Takes a client's multipart form, or JSON with the
 * images, and a mask, as data URL, plain base64 or URL, each by itself or in an object.
 */
export function imageEditForm(call: Call): (FormPart | ImageAddress)[] | Refusal {
  const images: (FormPart | ImageAddress)[] = [];
  const masks: (FormPart | ImageAddress)[] = [];
  for (const [field, image] of imagesIn(call)) {
    const isMask = field === MASK;
    const list = isMask ? masks : images;
    const most = isMask ? 1 : IMAGES_MAX;
    if (list.length >= most) {
      return refuse.badRequest(`${field}: at most ${most} image${isMask ? "" : "s"}`, field);
    }
    if (typeof image === "string") return refuse.badRequest(`${field}: ${image}`, field);
    const name = isMask ? MASK : "image";
    const number = list.length;
    list.push(
      "url" in image ? { name, address: image.url, field, number } : partOf(image, name, number),
    );
  }
  if (images.length === 0) {
    return refuse.badRequest("image: a reference image is required", "image");
  }
  // The upstream expects several images under the list name.
  const name = images.length > 1 ? "image[]" : "image";
  const named = images.map((image) => ({ ...image, name }));
  return [...named, ...masks, ...formFields(call.body, (field) => FIELDS.has(field))];
}

/** Options that are numbers in JSON, beside `n`. */
const NUMBERS = ["partial_images", "output_compression"];

/** Returns the JSON of an edit for a provider that takes no form: each of its images in an object, as at xAI. */
export function imageEditBody(call: Call, form: readonly FormPart[]): Call["body"] {
  const json = call.body.copy();
  for (const name of call.form ? NUMBERS : []) {
    const text = json.read(name);
    if (typeof text === "string" && /^\d{1,9}$/.test(text)) json.set(name, Number(text));
  }
  for (const field of FIELDS) json.set(field, undefined);
  const sources = (isMask: boolean) =>
    form
      .filter(({ name, filename }) => filename !== undefined && (name === MASK) === isMask)
      .map(({ type, data }) => ({ url: `data:${type};base64,${data.toString("base64")}` }));
  const images = sources(false);
  if (images.length > 1) json.set("images", images);
  else json.set("image", images[0]);
  json.set(MASK, sources(true)[0]);
  return json;
}

export function isAddress(part: FormPart | ImageAddress): part is ImageAddress {
  return "address" in part;
}

/** Returns the form with the images of its addresses. */
export async function fetchImages(
  form: readonly (FormPart | ImageAddress)[],
  fetcher: Services["imageFetcher"],
  place: Place,
): Promise<FormPart[] | Refusal> {
  const parts: FormPart[] = [];
  let bytes = 0;
  for (const part of form) {
    if (!isAddress(part)) {
      parts.push(part);
      continue;
    }
    const { name, address, field, number } = part;
    const image = await fetcher.fetch(address, place);
    if (typeof image === "string") return refuse.badRequest(`${field}: ${image}`, field);
    bytes += image.data.length;
    if (bytes > FETCHED_BYTES_MAX) {
      const megabytes = FETCHED_BYTES_MAX / 1_048_576;
      return refuse.badRequest(
        `${field}: the images are larger than ${megabytes} MB together`,
        field,
      );
    }
    parts.push(partOf(image, name, number));
  }
  return parts;
}

/** An image, with the name of its file if it has one. */
type Image = Pick<FormPart, "data" | "filename"> & { readonly type: string };

/** Yields the images of a call, each with the field that it came in. */
function* imagesIn({ form, body }: Call): Generator<readonly [string, ReturnType<typeof read>]> {
  for (const file of form ?? []) yield [file.name.replace(/\[\]$/, ""), typed(file)];
  for (const field of FIELDS) {
    const value = body.read(field);
    if (value == null) continue;
    for (const source of Array.isArray(value) ? value : [value]) yield [field, read(source)];
  }
}

function partOf({ data, type, filename }: Image, name: string, number: number): FormPart {
  const kind = name.replace(/\[\]$/, "");
  const own = `${kind}-${number}.${type.slice("image/".length)}`;
  return { name, data, type, filename: filename ?? own };
}

/** Returns the file with the type of its bytes, or a sentence that says why it is no image. */
function typed({ data, filename }: Pick<FormPart, "data" | "filename">): Image | string {
  const type = files.typeOf(data);
  if (!type?.startsWith("image/")) return NO_IMAGE;
  return filename === undefined ? { data, type } : { data, type, filename };
}

/**
 * Returns the image or its address, or a sentence that says why there is none. OpenAI's JSON has objects with `image_url`,
 * or with `file_id`; xAI's has `url`.
 */
function read(source: unknown): Image | { readonly url: string } | string {
  const object = objectOf(source);
  const text = object ? (object["image_url"] ?? object["url"]) : source;
  if (object && object["file_id"] != null) return "files are not kept here; send the image itself";
  if (typeof text !== "string") return "must be a string, or an object with image_url";
  if (/^https?:\/\//i.test(text)) return { url: text };
  // Text that is no base64 gives bytes of no image.
  return typed({ data: Buffer.from(parseDataUrl(text)?.data ?? text, "base64") });
}
