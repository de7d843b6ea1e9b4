import {
  type Call,
  type FetchedImage,
  type FormPart,
  formFields,
  type ImageFetcher,
  imageType,
  type Refusal,
  refuse,
} from "../../core/contract/index.ts";

/** Fields that clients use for the reference image. */
const IMAGE_FIELDS = ["image", "image_url", "reference_image", "ref_image"] as const;
const IMAGES_MAX = 16;
const DATA_URL = /^data:[^,]*;base64,/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Makes the multipart form for image upstreams. Takes a client's multipart form, or JSON with the
 * image as data URL, plain base64 or URL. Downloads images from URLs.
 */
export async function imageEditForm(
  call: Call,
  fetcher: ImageFetcher,
): Promise<FormPart[] | Refusal> {
  const parts: FormPart[] = [];
  let images = 0;
  for (const part of call.form ?? []) {
    const name = part.name.replace(/\[\]$/, "");
    if (!isImageField(name)) parts.push(part);
    else {
      const type = imageType(part.data);
      if (type === undefined)
        return refuse.badRequest(`${name}: must be PNG, JPEG, WebP or GIF`, name);
      images++;
      parts.push({ ...part, name: "image", type });
    }
  }
  for (const name of IMAGE_FIELDS) {
    const value = call.body[name];
    if (value == null) continue;
    for (const source of Array.isArray(value) ? value : [value]) {
      if (images >= IMAGES_MAX)
        return refuse.badRequest(`${name}: at most ${IMAGES_MAX} images`, name);
      const image = typeof source === "string" ? await load(source, fetcher) : "must be a string";
      if (typeof image === "string") return refuse.badRequest(`${name}: ${image}`, name);
      const extension = image.type.slice("image/".length);
      const filename = `image-${images}.${extension}`;
      parts.push({ name: "image", data: image.data, type: image.type, filename });
      images++;
    }
  }
  if (images === 0) return refuse.badRequest("image: a reference image is required", "image");
  // The upstream expects several images under the list name.
  const field = images > 1 ? "image[]" : "image";
  const form = parts.map((part) => (part.name === "image" ? { ...part, name: field } : part));
  return [...form, ...formFields(call.body, isImageField)];
}

function isImageField(name: string): boolean {
  return IMAGE_FIELDS.some((field) => field === name);
}

async function load(source: string, fetcher: ImageFetcher): Promise<FetchedImage | string> {
  if (/^https?:\/\//i.test(source)) return fetcher.fetch(source);
  const prefix = DATA_URL.exec(source)?.[0] ?? "";
  const base64 = source.slice(prefix.length).replace(/\s/g, "");
  if (!BASE64.test(base64)) return "must be a data URL, base64 or an http(s) URL";
  const data = Buffer.from(base64, "base64");
  const type = imageType(data);
  return type === undefined ? "must be PNG, JPEG, WebP or GIF" : { data, type };
}
