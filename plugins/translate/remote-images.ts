import {
  isObject,
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Refusal,
  type RequestBody,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import type { Place } from "./fetch-places.ts";
import { isWebAddress } from "./media.ts";

const ADDRESSES_MAX = 20;
/** Base64 of more does not fit into a request of 32 MB, which Claude takes at most. */
const FETCHED_BYTES_MAX = 20 * 1_048_576;

const LISTS = ["messages", "input"] as const;
const IMAGE_TYPES = new Set<unknown>(["image", "image_url", "input_image"]);

type FetchedImage = Exclude<Awaited<ReturnType<Services["imageFetcher"]["fetch"]>>, string>;

/** Returns true if a provider of the model takes no images by address (profile: `images`). */
export function wantsBytes(model: Model, { upstreams }: Pick<Services, "upstreams">): boolean {
  return model.routes.some(({ upstream, profile }) => {
    return mergeProfiles(upstreams.get(upstream)?.config.profile, profile).images === "bytes";
  });
}

/** Returns the addresses of the images of a conversation. */
export function imageAddresses(body: RequestBody): string[] {
  const { turns } = body;
  if (turns && !turns.types.some((type) => IMAGE_TYPES.has(type))) return [];
  const found = new Set<string>();
  for (const name of LISTS) {
    mapImages(body.read(name), (address) => {
      found.add(address);
      return undefined;
    });
  }
  return [...found];
}

/** Fetches images, and puts them into the body of a request instead of their addresses. */
export async function putImagesIn(
  body: RequestBody,
  addresses: readonly string[],
  fetcher: Services["imageFetcher"],
  place: Place,
): Promise<Refusal | undefined> {
  if (addresses.length > ADDRESSES_MAX) {
    return refuse.badRequest(`messages: at most ${ADDRESSES_MAX} images by address are fetched`);
  }
  const images = new Map<string, FetchedImage>();
  let bytes = 0;
  for (const address of addresses) {
    const image = await fetcher.fetch(address, place);
    if (typeof image === "string") return refuse.badRequest(`image_url: ${image}`);
    bytes += image.data.length;
    if (bytes > FETCHED_BYTES_MAX) {
      return refuse.badRequest("image_url: the images are larger than 20 MB together");
    }
    images.set(address, image);
  }
  for (const name of LISTS) {
    const list = body.read(name);
    const made = mapImages(list, (address) => images.get(address));
    if (made !== list) body.set(name, made);
  }
  return undefined;
}

/** Returns a value with the images of its parts replaced; the value itself if there are none. The nesting is bounded. */
function mapImages(value: unknown, find: (address: string) => FetchedImage | undefined): unknown {
  if (Array.isArray(value)) {
    const made = value.map((entry) => mapImages(entry, find));
    return made.some((entry, at) => entry !== value[at]) ? made : value;
  }
  if (!isObject(value)) return value;
  if (IMAGE_TYPES.has(value["type"])) return imagePart(value, find);
  let made: JsonObject = value;
  // Only these hold parts: what a tool is called with is the client's own.
  for (const name of ["content", "output"]) {
    const inner = value[name];
    const mapped = typeof inner === "object" ? mapImages(inner, find) : inner;
    if (mapped !== inner) made = { ...made, [name]: mapped };
  }
  return made;
}

function imagePart(
  part: JsonObject,
  find: (address: string) => FetchedImage | undefined,
): JsonObject {
  const { image_url: given, source } = part;
  const holder = objectOf(given) ?? objectOf(source);
  const address = holder ? holder["url"] : given;
  const image = typeof address === "string" && isWebAddress(address) ? find(address) : undefined;
  if (!image) return part;
  const data = image.data.toString("base64");
  if (holder && holder === source) {
    return { ...part, source: { type: "base64", media_type: image.type, data } };
  }
  const url = `data:${image.type};base64,${data}`;
  return { ...part, image_url: holder ? { ...holder, url } : url };
}
