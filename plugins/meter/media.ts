import { audioSeconds } from "./audio-seconds.ts";
import type { ImageTokens, Overhead } from "./families.ts";
import { type ImageSize, imageSize } from "./image-size.ts";
import { Inflation, pdfPages } from "./pdf-pages.ts";

/** Media of a request, as far as their tokens depend on them. */
export interface Media {
  /** Sizes of images; undefined for one whose header does not state it. */
  readonly images: (ImageSize | undefined)[];
  /** Pages of PDFs. */
  pages: number;
  /** Base64 of PDFs. Dense pages have more of it. */
  pdfBytes: number;
  /** Base64 of office documents. */
  officeBytes: number;
  /** Base64 of files that have no bound of their own, such as video. */
  otherBytes: number;
  audioSeconds: number;
  readonly inflation: Inflation;
}

export const noMedia = (): Media => ({
  images: [],
  pages: 0,
  pdfBytes: 0,
  officeBytes: 0,
  otherBytes: 0,
  audioSeconds: 0,
  inflation: new Inflation(),
});

/** Base64 of office documents: zip files. */
const ZIP = "UEsD";
/** Assumed, not measured: half of such a file is text, at the bytes of a PDF's; the rest is markup. */
const ZIP_BYTES_PER_TOKEN = 4;
/** Types of files that a model reads as text. Those of office documents have `xml` in their names too. */
const TEXT = /^(text\/|application\/(json|xml|x-yaml|yaml)\b)|\+(json|xml)\b/;
/** Compressed text of a PDF takes at least so much base64 a token. Measured: English prose, 2.0 to 2.6. */
const PDF_BYTES_PER_TOKEN = 2;

/** Adds a file in base64. Returns its text if it is one. */
export function addMedia(type: string, base64: string, media: Media): string | undefined {
  if (type.startsWith("image/")) media.images.push(imageSize(base64));
  else if (type.startsWith("audio/")) media.audioSeconds += audioSeconds(base64, type);
  else if (type.includes("pdf")) {
    media.pages += pdfPages(Buffer.from(base64, "base64"), media.inflation);
    media.pdfBytes += base64.length;
  } else if (base64.startsWith(ZIP)) media.officeBytes += base64.length;
  else if (TEXT.test(type)) return Buffer.from(base64, "base64").toString("utf8");
  else media.otherBytes += base64.length;
  return undefined;
}

/** Returns the tokens of an image of this size. Providers scale large ones down to `most`. */
export function imageTokens(size: ImageSize, { base, side, tile_milli, most }: ImageTokens) {
  const tiles = Math.ceil(size.width / side) * Math.ceil(size.height / side);
  return Math.min(base + Math.ceil((tiles * tile_milli) / 1_000), most);
}

/** Returns the tokens of documents. Of a PDF each page counts as an image, and its text. */
export function documentTokens(media: Media, overhead: Overhead): number {
  const { pages, pdfBytes, officeBytes } = media;
  const text = Math.min(pages * overhead.page_text, pdfBytes / PDF_BYTES_PER_TOKEN);
  return pages * overhead.page + text + officeBytes / ZIP_BYTES_PER_TOKEN;
}
