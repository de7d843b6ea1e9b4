/** Pixels. Firefox draws no SVG without a size, so pages could not save it as a picture. */
const QR_SIZE = 264;

/** Returns a QR code as SVG, with the quiet zone of four modules that scanners need. */
export async function qrSvg(text: string): Promise<string> {
  const { toString: drawn } = await import("qrcode");
  return drawn(text, { type: "svg", errorCorrectionLevel: "M", margin: 4, width: QR_SIZE });
}
