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
  const command = `verify-statement FILE --digest ${digest}${previousDigest === null ? "" : ` --previous ${previousDigest}`}`;
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
        `Hãy giữ email này. Với email và tệp sao kê, lệnh sau cho biết có dòng nào đã bị sửa hay không, mà không cần tin cơ sở dữ liệu của chúng tôi:\n${command}`,
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
        `Keep this email. With it and the statement's file, this command shows if a row was changed, without trust in our database:\n${command}`,
      ],
    },
  };
}
