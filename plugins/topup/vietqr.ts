import { toString as drawn } from "qrcode";
import { QRPay } from "vietnam-qr-pay";

interface VietQr {
  /** The bank's six digits. */
  readonly bin: string;
  readonly accountNumber: string;
  readonly amountVnd: number;
  readonly purpose: string;
  /** What the standard calls the bill number. */
  readonly reference?: string;
}

/** The text of a payment's QR by the VietQR standard: dynamic, which is to say for one payment. */
export function qrText(payment: VietQr): string {
  const qr = QRPay.initVietQR({
    bankBin: payment.bin,
    bankNumber: payment.accountNumber,
    amount: String(payment.amountVnd),
    purpose: payment.purpose,
  });
  if (payment.reference !== undefined) qr.additionalData.billNumber = payment.reference;
  return qr.build();
}

/** A QR as an SVG image, with the quiet zone of four modules that scanners want. */
export function qrSvg(text: string): Promise<string> {
  return drawn(text, { type: "svg", errorCorrectionLevel: "M", margin: 4 });
}
