import { files } from "../../core/plugin/index.ts";
import { audioSeconds } from "./audio-seconds.ts";
import type { ImageTokens, Overhead } from "./families.ts";
import { type ImageSize, imageSize } from "./image-size.ts";
import { Inflation } from "./inflation.ts";
import { officeText } from "./office-text.ts";
import { pdfPages } from "./pdf-pages.ts";
import { shownBytes } from "./pdf-text.ts";

/** Media of a request, as far as their tokens depend on them. */
export interface Media {
  /** Sizes of the images; undefined for an image whose header does not state it. */
  readonly images: (ImageSize | undefined)[];
  /** Number of pages of PDFs. */
  pages: number;
  /** Bytes of PDFs in base64. Dense pages have more. */
  pdfBytes: number;
  /** Bytes of the text on the pages of PDFs, as far as it can be read. */
  pdfTextBytes: number;
  /** Bytes of office documents in base64, without those that were read as text. */
  officeBytes: number;
  /** Bytes in base64 of files that have no bound of their own, such as video. */
  otherBytes: number;
  audioSeconds: number;
  readonly inflation: Inflation;
}

/** Returns true if there are files, whose count may depend on files that come before them. */
export function hasFiles(media: Omit<Media, "inflation">): boolean {
  const { images, pages, pdfBytes, officeBytes, otherBytes, audioSeconds } = media;
  return images.length + pages + pdfBytes + officeBytes + otherBytes + audioSeconds > 0;
}

export const noMedia = (): Media => ({
  images: [],
  pages: 0,
  pdfBytes: 0,
  pdfTextBytes: 0,
  officeBytes: 0,
  otherBytes: 0,
  audioSeconds: 0,
  inflation: new Inflation(),
});

/** The beginning of a zip file in base64: office documents are zip files. */
const ZIP = "UEsD";
/** Assumed, not measured: half of such a file is text, at the bytes of a PDF's; the rest is markup. */
const ZIP_BYTES_PER_TOKEN = 4;
/** Minimum base64 bytes for each token of a PDF's compressed text. Measured: English prose, 2.0 to 2.6. */
const PDF_BYTES_PER_TOKEN = 2;
/** Bytes of the text on a page for each token, as of prose in a bound. */
const PDF_TEXT_BYTES_PER_TOKEN = 3;

/** Adds a file in base64. Returns its text if it is a text file, or the text of an office document. */
export function addMedia(type: string, base64: string, media: Media): string | undefined {
  if (type.startsWith("image/")) media.images.push(imageSize(base64));
  else if (type.startsWith("audio/")) media.audioSeconds += audioSeconds(base64, type);
  else if (type.includes("pdf")) {
    const bytes = Buffer.from(base64, "base64");
    media.pages += pdfPages(bytes, media.inflation);
    media.pdfBytes += base64.length;
    media.pdfTextBytes += shownBytes(bytes, media.inflation);
  } else if (base64.startsWith(ZIP)) return addOffice(base64, media);
  else if (type.startsWith("text/") || files.typeOfBase64(base64) === "text/plain")
    return files.textOfBase64(base64);
  else media.otherBytes += base64.length;
  return undefined;
}

/** Adds an office document, by its size if it cannot be read. Returns its text. */
function addOffice(base64: string, media: Media): string | undefined {
  const office = officeText(Buffer.from(base64, "base64"), media.inflation);
  media.officeBytes += office ? Math.ceil((office.unreadBytes * 4) / 3) : base64.length;
  return office?.text;
}

/** Returns the tokens of an image of this size. Providers scale large ones down to `most`. */
export function imageTokens(size: ImageSize, { base, side, tile_milli, most }: ImageTokens) {
  const tiles = Math.ceil(size.width / side) * Math.ceil(size.height / side);
  return Math.min(base + Math.ceil((tiles * tile_milli) / 1_000), most);
}

/**
 * Returns the tokens of documents. Each page of a PDF counts as an image, plus its text: what a page can hold, or more if
 * more was read.
 */
export function documentTokens(media: Omit<Media, "inflation">, overhead: Overhead): number {
  const { pages, pdfBytes, pdfTextBytes, officeBytes } = media;
  const usual = Math.min(pages * overhead.page_text, pdfBytes / PDF_BYTES_PER_TOKEN);
  const read = overhead.page_text === 0 ? 0 : pdfTextBytes / PDF_TEXT_BYTES_PER_TOKEN;
  const text = Math.max(usual, read);
  return pages * overhead.page + text + officeBytes / ZIP_BYTES_PER_TOKEN;
}
