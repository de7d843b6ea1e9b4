import { files } from "../../core/plugin/index.ts";

/** A parsed data URL. `data` is base64. */
interface DataUrl {
  /** The media type in lower case, without parameters; `image/jpg` becomes `image/jpeg`. */
  readonly mediaType: string;
  readonly data: string;
}

/**
 * Maximum head of a data URL: longer than any real media type. Stops a hostile one from being split
 * into millions of parameters.
 */
const HEAD_CHARS_MAX = 4096;

/**
 * Parses a data URL, without a regular expression over its data of up to 20 MB. Returns undefined
 * if `url` is not a data URL.
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (url.slice(0, 5).toLowerCase() !== "data:") return undefined;
  const comma = url.indexOf(",");
  if (comma === -1 || comma > HEAD_CHARS_MAX) return undefined;
  const [type = "", ...parameters] = url.slice(5, comma).split(";");
  const mediaType = type.trim().toLowerCase() || "text/plain";
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  const body = url.slice(comma + 1);
  return {
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    data: isBase64 ? unescaped(body) : percentDecode(body).toString("base64"),
  };
}

type FileType = NonNullable<ReturnType<typeof files.typeOf>>;
type ImageType = Extract<FileType, `image/${string}`>;

const IMAGE_TYPES: readonly string[] = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
] satisfies ImageType[];

function isImageType(type: string | undefined): type is ImageType {
  return type !== undefined && IMAGE_TYPES.includes(type);
}

/** Returns the type of an image by its first bytes, which Claude compares with the stated one (router-for-me/CLIProxyAPI#3362). */
export function imageTypeOf(data: string, stated: string): ImageType | undefined {
  return [files.typeOfBase64(data), stated].find(isImageType);
}

/** Returns the type of a document: by its first bytes too, since code has many types, and some clients state none. */
export function documentTypeOf(data: string, stated: string): string {
  if (stated === "application/pdf" || stated.startsWith("text/")) return stated;
  return files.typeOfBase64(data) ?? stated;
}

/** Undoes percent-encoding: base64 in a URL may have it. */
function unescaped(data: string): string {
  return data.includes("%") ? percentDecode(data).toString("latin1") : data;
}

/** Leaves a percent sign as it is that is followed by no two digits. `unescape` reads 20 MB of them in a third of a second. */
function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text).toString("latin1").replaceAll("%u", "%25u");
  return Buffer.from(unescape(bytes), "latin1");
}

/** Returns true if the path of a URL ends in `.pdf`. Ignores query and fragment. */
export function isPdfAddress(url: string): boolean {
  const end = url.search(/[?#]/);
  return (end === -1 ? url : url.slice(0, end)).toLowerCase().endsWith(".pdf");
}

export function isWebAddress(url: string): boolean {
  const scheme = url.slice(0, 8).toLowerCase();
  return scheme.startsWith("http://") || scheme === "https://";
}
