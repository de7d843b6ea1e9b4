import type { Language } from "../options.ts";

/** The kinds of mail, with the link that the mail carries. */
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
  /** The link stands after the first paragraph. */
  readonly paragraphs: readonly string[];
}

/** Returns the mail in both languages; `language`, the reader's, comes first. */
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
      subject: "Xác minh địa chỉ email",
      paragraphs: [
        "Cảm ơn bạn đã đăng ký. Hãy mở liên kết này trong vòng 48 giờ để xác minh địa chỉ email:",
        "Sau đó bạn có thể tạo khóa API. Nếu bạn không đăng ký, hãy bỏ qua email này và đừng mở liên kết.",
      ],
    },
    en: {
      subject: "Verify your email address",
      paragraphs: [
        "Thank you for signing up. Open this link within 48 hours to verify your email address:",
        "After that you can create API keys. If you did not sign up, ignore this email and do not open the link.",
      ],
    },
  },
  taken: {
    vi: {
      subject: "Bạn đã có tài khoản",
      paragraphs: [
        "Có người vừa đăng ký bằng địa chỉ email này, nhưng địa chỉ đã có tài khoản. Nếu đó là bạn, hãy đăng nhập. Nếu bạn quên mật khẩu, hãy mở liên kết này trong vòng 1 giờ để đặt mật khẩu mới:",
        "Nếu không phải bạn, hãy bỏ qua email này. Tài khoản của bạn không có gì thay đổi.",
      ],
    },
    en: {
      subject: "You already have an account",
      paragraphs: [
        "Someone tried to sign up with this email address, which already has an account. If it was you, sign in. If you forgot your password, open this link within 1 hour to set a new one:",
        "If it was not you, ignore this email. Nothing about your account has changed.",
      ],
    },
  },
  reset: {
    vi: {
      subject: "Đặt lại mật khẩu",
      paragraphs: [
        "Hãy mở liên kết này trong vòng 1 giờ để đặt mật khẩu mới:",
        "Khi đặt mật khẩu mới, bạn sẽ bị đăng xuất khỏi mọi thiết bị. Nếu bạn không yêu cầu, hãy bỏ qua email này: mật khẩu cũ vẫn dùng được.",
      ],
    },
    en: {
      subject: "Reset your password",
      paragraphs: [
        "Open this link within 1 hour to set a new password:",
        "A new password signs you out on every device. If you did not ask for this, ignore this email: your old password still works.",
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
        "The password of your account has just been changed, and your other devices have been signed out.",
        "If it was not you, reset your password immediately and check your API keys.",
      ],
    },
  },
};
