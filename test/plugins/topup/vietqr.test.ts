import t from "tap";
import { qrSvg } from "../../../plugins/page-parts/qr.ts";
import { qrText } from "../../../plugins/topup/vietqr.ts";

t.test("the text of a QR follows the VietQR standard, including the checksum", async (t) => {
  const withReference = await qrText({
    bin: "970403",
    accountNumber: "0011012345678",
    amountVnd: 180_000,
    reference: "NPS6869",
    purpose: "thanh toan don hang",
  });
  t.equal(
    withReference,
    "00020101021238570010A00000072701270006970403011300110123456780208QRIBFTTA" +
      "530370454061800005802VN62340107NPS68690819thanh toan don hang63042E2E",
  );
  const withPurpose = await qrText({
    bin: "970415",
    accountNumber: "0011001932418",
    amountVnd: 120_000,
    purpose: "ung ho lu lut",
  });
  t.match(withPurpose, /^000201010212.*6304C15C$/);
});

t.test("a QR is an image with a quiet zone, and contains no script", async (t) => {
  const svg = await qrSvg("00020101021238");
  t.match(
    svg,
    /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="264" height="264" viewBox="0 0 29 29"/,
  );
  t.notMatch(svg, /<script|href|on\w+=/);
});
