import { el } from "../../../page-parts/browser/dom.ts";
import { vnd } from "../../../page-parts/browser/format.ts";
import type { TopUp } from "../contract.ts";
import { t } from "../text.ts";

/** Pixels: what banking apps read from a phone's gallery, and a line of text below it. */
const SIZE = 960;
const MARGIN = 48;
const LINE = 60;

/** Saves the QR code as a PNG, which galleries of phones show, with the details of the transfer below it. */
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
  if (!pen) return;
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
  if (!picture) return;
  const href = URL.createObjectURL(picture);
  el("a", { href, download: `${code}.png` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
