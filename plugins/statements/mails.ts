import { formatVnd, type Services } from "../../core/plugin/index.ts";
import { settingsOf } from "./customers.ts";
import type { ClosedStatement } from "./file.ts";

type Texts = Parameters<Services["customers"]["current"]["mail"]>[1]["texts"];

/** How far a pass over the statements of a month came. */
interface Pass {
  /** Mails that were queued: they may fail, so another pass looks again. */
  readonly queued: number;
  /** True if the queue was full, after the mail to `after`. */
  readonly isFull: boolean;
  readonly after: string | undefined;
}

/** Queues the mails about the statements of a month, each of which is sent once, however many gateways queue it. */
export async function queueMails(
  services: Services,
  month: string,
  from: string | undefined,
): Promise<Pass> {
  const { database, usage } = services;
  let queued = 0;
  for (let after = from; ; ) {
    const page = await usage.months.ofMonth(month, after);
    if (page.length === 0) return { queued, isFull: false, after: undefined };
    const claimed = await database.query<{ account: string }>(
      `select account_id as account from statements_mails
      where month = $1 and account_id = any ($2::text::uuid[])`,
      [month, `{${page.map(({ accountId }) => accountId).join(",")}}`],
    );
    const done = new Set(claimed.map(({ account }) => account));
    for (const statement of page) {
      const { accountId } = statement;
      if (!done.has(accountId)) {
        if (!queueMail(services, statement)) return { queued, isFull: true, after };
        queued += 1;
      }
      after = accountId;
    }
  }
}

function queueMail({ customers, database }: Services, statement: ClosedStatement): boolean {
  const { accountId, month } = statement;
  const address = `${customers.current.publicUrl}/dashboard/statements?month=${month}`;
  return customers.current.mail(accountId, {
    texts: textsOf(statement, address),

    async claim() {
      const claimed = await database.query(
        `insert into statements_mails (account_id, month) values ($1, $2)
        on conflict do nothing returning month`,
        [accountId, month],
      );
      return claimed.length > 0 && (await settingsOf(database, accountId)).isMailed;
    },

    async release() {
      await database.query("delete from statements_mails where account_id = $1 and month = $2", [
        accountId,
        month,
      ]);
    },
  });
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
        "Bạn có thể tắt email này ở trang sao kê.",
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
        "You can switch these emails off on the page of statements.",
      ],
    },
  };
}
