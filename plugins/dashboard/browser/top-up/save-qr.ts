import { el } from "../../../page-parts/browser/dom.ts";
import { vnd } from "../../../page-parts/browser/format.ts";
import type { TopUp } from "../contract.ts";
import { t } from "../text.ts";

/** Pixels: what banking apps read from a phone's gallery, and a line of text below it. */
const SIZE = 960;
const MARGIN = 48;
const LINE = 60;

/** Saves the QR code as a PNG, with the details of the transfer below it. Rejects if the browser draws none. */
export async function saveQr(qr: HTMLImageElement, order: TopUp): Promise<void> {
  const { bank, content, code, missing_vnd } = order;
  const lines = [
    vnd(missing_vnd),
    `${bank.name} · ${bank.account_number}`,
    bank.account_name,
    `${t("topup.content")}: ${content}`,
  ];
  const canvas = el("canvas", {
    width: SIZE + 2 * MARGIN,
    height: SIZE + 2 * MARGIN + lines.length * LINE,
  });
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("the browser draws nothing");
  // Always light: scanners read no light code on dark ground.
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(qr, MARGIN, MARGIN, SIZE, SIZE);
  pen.fillStyle = "#17211c";
  pen.textAlign = "center";
  for (const [at, line] of lines.entries()) {
    pen.font = `${at === 0 ? "700 52px" : "40px"} system-ui, sans-serif`;
    pen.fillText(line, canvas.width / 2, SIZE + MARGIN + (at + 0.8) * LINE, SIZE);
  }
  const picture = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!picture) throw new Error("the browser makes no PNG");
  const file = new File([picture], `${code}.png`, { type: picture.type });
  if (isAppleTouch() && navigator.canShare?.({ files: [file] }) && (await share(file))) return;
  const href = URL.createObjectURL(picture);
  el("a", { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Banking apps read from Photos, to which iPhones and iPads save only what is shared: downloads go to Files. */
function isAppleTouch(): boolean {
  return /iPhone|iPad|Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 0;
}

/** Returns false if the browser does not let the page share now, such as too long after the click. */
async function share(file: File): Promise<boolean> {
  try {
    await navigator.share({ files: [file] });
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    if (name === "NotAllowedError") return false;
    // The customer has closed the list of apps.
    if (name !== "AbortError") throw error;
  }
  return true;
}
