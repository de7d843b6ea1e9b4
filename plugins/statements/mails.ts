import { formatVnd, type Services } from "../../core/plugin/index.ts";
import type { ClosedStatement } from "./file.ts";

type Texts = Parameters<Services["messages"]["current"]["post"]>[0]["texts"];

/** Writes the mails about the statements of a month to the outbox, each of which is sent once, however many gateways write it. */
export async function writeMails(services: Services, month: string): Promise<void> {
  const { customers, messages, usage } = services;
  for (let after: string | undefined; ; ) {
    const page = await usage.months.ofMonth(month, after);
    if (page.length === 0) return;
    for (const statement of page) {
      const { accountId } = statement;
      const address = `${customers.current.publicUrl}/dashboard/statements?month=${month}`;
      await messages.current.post({
        accountId,
        cause: `statement ${month} ${accountId}`,
        kind: "statement",
        texts: textsOf(statement, address),
      });
      after = accountId;
    }
  }
}

function textsOf(statement: ClosedStatement, address: string): Texts {
  const { month, number, digest, previousDigest, openingMicroVnd, closingMicroVnd } = statement;
  const [year = "", ofYear = ""] = month.split("-");
  const [opening, closing] = [formatVnd(openingMicroVnd), formatVnd(closingMicroVnd)];
  // Every computer has one of these, so a customer needs no program of ours.
  const commands = [
    `sha256sum statement-${month}.csv (Linux)`,
    `shasum -a 256 statement-${month}.csv (macOS)`,
    `certutil -hashfile statement-${month}.csv SHA256 (Windows)`,
  ].join("\n");
  return {
    vi: {
      subject: `Sao kê tháng ${Number(ofYear)}/${year}`,
      paragraphs: [
        `Sao kê số ${number} của bạn, tháng ${Number(ofYear)}/${year}, đã chốt và sẽ không thay đổi nữa. Số dư đầu kỳ ${opening} đ, cuối kỳ ${closing} đ:`,
        address,
        `Mã băm (SHA-256) của sao kê:\n${digest}`,
        previousDigest === null
          ? "Đây là sao kê đầu tiên của bạn."
          : `Mã băm của sao kê trước:\n${previousDigest}`,
        `Hãy giữ email này: nhờ nó, bạn biết sao kê có bị sửa hay không mà không cần tin cơ sở dữ liệu của chúng tôi. Tải tệp ở mục “Kiểm tra sao kê này” của trang trên; lệnh sau phải in ra đúng mã băm này:\n${commands}`,
      ],
    },
    en: {
      subject: `Statement of ${year}-${ofYear}`,
      paragraphs: [
        `Your statement no. ${number}, for ${year}-${ofYear}, is closed and will not change any more. Opening balance ${opening} đ, closing balance ${closing} đ:`,
        address,
        `Digest (SHA-256) of the statement:\n${digest}`,
        previousDigest === null
          ? "This is your first statement."
          : `Digest of the statement before:\n${previousDigest}`,
        `Keep this email: by it you know if the statement was changed, without trust in our database. Save the file under “Check this statement” on the page above; this command must print the same digest:\n${commands}`,
      ],
    },
  };
}
