import { toString as drawn } from "qrcode";
import { QRPay } from "vietnam-qr-pay";

interface VietQr {
  /** The bank's six digits. */
  readonly bin: string;
  readonly accountNumber: string;
  readonly amountVnd: number;
  readonly purpose: string;
  /** The bill number, in the words of the standard. */
  readonly reference?: string;
}

/** Returns the text of a QR code for one payment, which the VietQR standard calls dynamic. */
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

/** Returns a QR code as SVG, with the quiet zone of four modules that scanners need. */
export function qrSvg(text: string): Promise<string> {
  return drawn(text, { type: "svg", errorCorrectionLevel: "M", margin: 4 });
}
