import { formatVnd, type Services } from "../../core/plugin/index.ts";
import type { Language, Texts } from "./mail-text.ts";

const LOCALE = { vi: "vi-VN", en: "en-US" };
const PERIODS = {
  vi: { day: "ngày", month: "tháng", total: "tổng cộng" },
  en: { day: "of a day", month: "of a month", total: "in all" },
};
/** As on the customer's page of money. */
const TOP_UPS = {
  vi: {
    transfer: "Chuyển khoản",
    credit: "Nhà vận hành cộng tiền",
    voucher: "Mã quà tặng",
    bonus: "Thưởng nạp tiền",
  },
  en: {
    transfer: "Bank transfer",
    credit: "Credit from the operator",
    voucher: "Voucher",
    bonus: "Top-up bonus",
  },
};

type TopUp = Awaited<ReturnType<Services["usage"]["moved"]>>["topUps"][number];

/** Returns whole đ, rounded down, in the style of the language. */
function dong(microVnd: number, language: Language): string {
  return `${Math.floor(Number(formatVnd(microVnd))).toLocaleString(LOCALE[language])} đ`;
}

export function topUpTexts(
  { amountMicroVnd, balanceMicroVnd, kind, reason }: TopUp,
  url: string,
): Texts {
  const of = (language: Language) => ({
    amount: dong(amountMicroVnd, language),
    balance: dong(balanceMicroVnd, language),
    what: TOP_UPS[language][kind] + (reason === null ? "" : ` (${reason})`),
  });
  const [vi, en] = [of("vi"), of("en")];
  return {
    vi: {
      subject: `Đã cộng ${vi.amount} vào số dư`,
      paragraphs: [
        `${vi.amount} vừa được cộng vào tài khoản của bạn: ${vi.what}. Số dư sau đó: ${vi.balance}.`,
        `${url}/dashboard/money`,
      ],
    },
    en: {
      subject: `${en.amount} added to your balance`,
      paragraphs: [
        `${en.amount} was just added to your account: ${en.what}. Balance after it: ${en.balance}.`,
        `${url}/dashboard/money`,
      ],
    },
  };
}

/** `canTopUp`: the customer's pages have one for it. */
export function lowBalanceTexts(
  balanceMicroVnd: number,
  lowMicroVnd: number,
  { url, canTopUp }: { readonly url: string; readonly canTopUp: boolean },
): Texts {
  const page = `${url}/dashboard${canTopUp ? "/top-up" : ""}`;
  const of = (language: Language) => ({
    balance: dong(balanceMicroVnd, language),
    low: dong(lowMicroVnd, language),
  });
  const [vi, en] = [of("vi"), of("en")];
  return {
    vi: {
      subject: `Số dư còn ${vi.balance}`,
      paragraphs: [
        `Số dư của bạn còn ${vi.balance}, dưới mức ${vi.low} mà bạn muốn được báo. Khi hết tiền, lượt gọi mới bị từ chối với lỗi 402. ${canTopUp ? "Nạp tiền" : "Xem số dư"} tại:`,
        page,
        "Bạn sẽ không nhận thêm email này cho đến khi số dư lại đủ mức đó. Mức báo được đặt ở trang tài khoản.",
      ],
    },
    en: {
      subject: `Your balance is down to ${en.balance}`,
      paragraphs: [
        `Your balance is down to ${en.balance}, below the ${en.low} at which you get this email. Without money, new calls are refused with error 402. ${canTopUp ? "Top up" : "See your balance"} here:`,
        page,
        "You get no other email like this until the balance has reached that amount again. You set it on the page of your account.",
      ],
    },
  };
}

/** The budget of a key, and what of it is spent. */
interface SpentBudget {
  readonly keyName: string;
  /** The first characters of the key. */
  readonly prefix: string;
  readonly period: "day" | "month" | "total";
  readonly limitMicroVnd: number;
  readonly chargedMicroVnd: number;
  /** True if there is none left, or too little for a call that was refused. */
  readonly isUp: boolean;
}

export function budgetTexts(budget: SpentBudget, url: string): Texts {
  const { keyName, prefix, period, limitMicroVnd, chargedMicroVnd, isUp } = budget;
  const key = `${keyName} (${prefix}…)`;
  const of = (language: Language) => ({
    spent: `${dong(chargedMicroVnd, language)} / ${dong(limitMicroVnd, language)}`,
    period: PERIODS[language][period],
  });
  const [vi, en] = [of("vi"), of("en")];
  const isSpent = chargedMicroVnd >= limitMicroVnd;
  const viUp = isSpent ? "đã hết ngân sách" : "còn quá ít ngân sách";
  const enUp = isSpent ? "has used up its budget" : "has too little left of its budget";
  const page = `${url}/dashboard/keys`;
  return {
    vi: {
      subject: isUp
        ? `Khóa API ${keyName} ${viUp}`
        : `Khóa API ${keyName} đã dùng hơn 80 % ngân sách`,
      paragraphs: [
        isUp
          ? `Khóa API ${key} ${viUp} ${vi.period}: ${vi.spent}. Lượt gọi mới bằng khóa này bị từ chối với lỗi 402.`
          : `Khóa API ${key} đã dùng hơn 80 % ngân sách ${vi.period}: ${vi.spent}.`,
        `Bạn có thể đổi ngân sách tại:\n${page}`,
      ],
    },
    en: {
      subject: isUp
        ? `The API key ${keyName} ${enUp}`
        : `The API key ${keyName} has used more than 80% of its budget`,
      paragraphs: [
        isUp
          ? `The API key ${key} ${enUp} ${en.period}: ${en.spent}. New calls with it are refused with error 402.`
          : `The API key ${key} has used more than 80% of its budget ${en.period}: ${en.spent}.`,
        `You can change the budget here:\n${page}`,
      ],
    },
  };
}
