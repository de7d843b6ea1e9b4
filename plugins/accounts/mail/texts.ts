import type { Language } from "../options.ts";

/** What a mail is about. Those with a link say so in `link`. */
export type MailTemplate =
  | { readonly kind: "verify"; readonly link: string }
  | { readonly kind: "taken"; readonly link: string }
  | { readonly kind: "reset"; readonly link: string }
  | { readonly kind: "changed" };

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

interface Wording {
  readonly subject: string;
  /** A paragraph each; the link follows the first. */
  readonly paragraphs: readonly string[];
}

/** The mail in both languages, the reader's own first. */
export function mailText(letter: MailTemplate, language: Language): MailText {
  const own = WORDINGS[letter.kind][language];
  const other = WORDINGS[letter.kind][language === "vi" ? "en" : "vi"];
  const link = "link" in letter ? letter.link : undefined;
  const text = [...paragraphs(own, link), "—", ...paragraphs(other, link)].join("\n\n");
  return { subject: `${own.subject} / ${other.subject}`, text: `${text}\n` };
}

function paragraphs({ paragraphs: [first = "", ...rest] }: Wording, link: string | undefined) {
  return [first, ...(link === undefined ? [] : [link]), ...rest];
}

const WORDINGS: Readonly<Record<MailTemplate["kind"], Readonly<Record<Language, Wording>>>> = {
  verify: {
    vi: {
      subject: "Xác minh địa chỉ e-mail",
      paragraphs: [
        "Cảm ơn bạn đã đăng ký. Hãy mở liên kết này trong vòng 48 giờ để xác minh địa chỉ e-mail:",
        "Sau đó bạn có thể tạo khóa API. Nếu bạn không đăng ký, hãy bỏ qua thư này và đừng mở liên kết.",
      ],
    },
    en: {
      subject: "Verify your e-mail address",
      paragraphs: [
        "Thank you for signing up. Open this link within 48 hours to verify your e-mail address:",
        "After that you can create API keys. If you did not sign up, ignore this mail and leave the link alone.",
      ],
    },
  },
  taken: {
    vi: {
      subject: "Bạn đã có tài khoản",
      paragraphs: [
        "Có người vừa đăng ký bằng địa chỉ e-mail này, nhưng địa chỉ đã có tài khoản. Nếu đó là bạn, hãy đăng nhập; nếu quên mật khẩu, liên kết này cho phép đặt mật khẩu mới trong vòng 1 giờ:",
        "Nếu không phải bạn, hãy bỏ qua thư này: tài khoản không có gì thay đổi.",
      ],
    },
    en: {
      subject: "You already have an account",
      paragraphs: [
        "Somebody has just signed up with this e-mail address, which already has an account. If it was you, sign in; if you have forgotten the password, this link lets you set a new one within 1 hour:",
        "If it was not you, ignore this mail: nothing about the account has changed.",
      ],
    },
  },
  reset: {
    vi: {
      subject: "Đặt lại mật khẩu",
      paragraphs: [
        "Hãy mở liên kết này trong vòng 1 giờ để đặt mật khẩu mới:",
        "Đặt mật khẩu mới sẽ đăng xuất mọi thiết bị. Nếu bạn không yêu cầu, hãy bỏ qua thư này: mật khẩu cũ vẫn dùng được.",
      ],
    },
    en: {
      subject: "Reset your password",
      paragraphs: [
        "Open this link within 1 hour to set a new password:",
        "A new password signs out every device. If you did not ask for this, ignore this mail: the old password goes on working.",
      ],
    },
  },
  changed: {
    vi: {
      subject: "Mật khẩu đã được thay đổi",
      paragraphs: [
        "Mật khẩu tài khoản của bạn vừa được thay đổi, và các thiết bị khác đã bị đăng xuất.",
        "Nếu không phải bạn, hãy đặt lại mật khẩu ngay và kiểm tra các khóa API của mình.",
      ],
    },
    en: {
      subject: "Your password was changed",
      paragraphs: [
        "The password of your account has just been changed, and other devices were signed out.",
        "If it was not you, reset the password at once and look through your API keys.",
      ],
    },
  },
};
