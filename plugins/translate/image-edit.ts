import {
  type Call,
  formFields,
  imageType,
  type Refusal,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { base64Bytes } from "./base64.ts";
import type { Place } from "./fetch-places.ts";

type FormPart = NonNullable<Call["form"]>[number];

/** Fields that clients use for the reference image. */
const IMAGE_FIELDS = ["image", "image_url", "reference_image", "ref_image"] as const;
const IMAGES_MAX = 16;
/** Bounded, because a text of 20 MB may have no comma. */
const DATA_URL = /^data:[^,]{0,1000};base64,/i;
/** The same size as a client may send itself, by the default of `limits.body_mb`. */
const FETCHED_BYTES_MAX = 20 * 1_048_576;

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
 * image as data URL, plain base64 or URL.
 */
export function imageEditForm(call: Call): (FormPart | ImageAddress)[] | Refusal {
  const images: (FormPart | ImageAddress)[] = [];
  const others: FormPart[] = [];
  for (const part of call.form ?? []) {
    const name = part.name.replace(/\[\]$/, "");
    if (!isImageField(name)) others.push(part);
    else {
      if (images.length >= IMAGES_MAX) return tooMany(name);
      const type = imageType(part.data);
      if (type === undefined)
        return refuse.badRequest(`${name}: must be PNG, JPEG, WebP or GIF`, name);
      images.push({ ...part, type });
    }
  }
  for (const name of IMAGE_FIELDS) {
    const value = call.body.read(name);
    if (value == null) continue;
    for (const source of Array.isArray(value) ? value : [value]) {
      if (images.length >= IMAGES_MAX) return tooMany(name);
      const image = typeof source === "string" ? read(source) : "must be a string";
      if (typeof image === "string") return refuse.badRequest(`${name}: ${image}`, name);
      const number = images.length;
      images.push(
        "url" in image ? { name, address: image.url, field: name, number } : partOf(image, number),
      );
    }
  }
  if (images.length === 0) {
    return refuse.badRequest("image: a reference image is required", "image");
  }
  // The upstream expects several images under the list name.
  const name = images.length > 1 ? "image[]" : "image";
  const named = images.map((image) => ({ ...image, name }));
  return [...named, ...others, ...formFields(call.body, isImageField)];
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
    parts.push({ ...partOf(image, number), name });
  }
  return parts;
}

function tooMany(name: string): Refusal {
  return refuse.badRequest(`${name}: at most ${IMAGES_MAX} images`, name);
}

function partOf(
  { data, type }: Exclude<Awaited<ReturnType<Services["imageFetcher"]["fetch"]>>, string>,
  number: number,
): FormPart {
  const filename = `image-${number}.${type.slice("image/".length)}`;
  return { name: "image", data, type, filename };
}

function isImageField(name: string): boolean {
  return IMAGE_FIELDS.some((field) => field === name);
}

/** Returns the image or its address, or a sentence that says why there is none. */
function read(
  source: string,
):
  | Exclude<Awaited<ReturnType<Services["imageFetcher"]["fetch"]>>, string>
  | { readonly url: string }
  | string {
  if (/^https?:\/\//i.test(source)) return { url: source };
  const prefix = DATA_URL.exec(source)?.[0] ?? "";
  const data = base64Bytes(source.slice(prefix.length));
  if (data === undefined) return "must be a data URL, base64 or an http(s) URL";
  const type = imageType(data);
  return type === undefined ? "must be PNG, JPEG, WebP or GIF" : { data, type };
}
