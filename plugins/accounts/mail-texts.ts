import type { Services } from "../../core/plugin/index.ts";

type Texts = Parameters<Services["messages"]["current"]["post"]>[0]["texts"];

/** The subject of a mail, with its link or what it is about if it has one. */
export type MailTemplate =
  | { readonly kind: "verify"; readonly link: string }
  | { readonly kind: "taken"; readonly link: string }
  | { readonly kind: "reset"; readonly link: string }
  | { readonly kind: "welcome"; readonly link: string }
  | { readonly kind: Notice; readonly about?: string | undefined };

/** A change that the owner of an account is notified of. */
export type Notice =
  | "changed"
  | "email-changed"
  | "closed"
  | "factor-on"
  | "factor-off"
  | "key-made"
  | "key-shown"
  | "new-browser"
  | "team-invited";

interface Wording {
  readonly subject: string;
  /** The link, or what the mail is about, follows the first paragraph. */
  readonly paragraphs: readonly string[];
}

type Wordings = Readonly<Record<MailTemplate["kind"], Wording>>;

/** Returns the texts of a mail. */
export function mailTexts(template: MailTemplate): Texts {
  const line = "link" in template ? template.link : template.about;
  const { kind } = template;
  return { vi: withLine(VI[kind], line), en: withLine(EN[kind], line) };
}

function withLine({ subject, paragraphs: [first = "", ...rest] }: Wording, line?: string): Wording {
  return { subject, paragraphs: [first, ...(line === undefined ? [] : [line]), ...rest] };
}

const VI: Wordings = {
  verify: {
    subject: "Xác minh địa chỉ email",
    paragraphs: [
      "Cảm ơn bạn đã đăng ký. Hãy mở liên kết này trong vòng 48 giờ để xác minh địa chỉ email:",
      "Sau đó bạn có thể tạo khóa API. Nếu bạn không đăng ký, hãy bỏ qua email này và đừng mở liên kết.",
    ],
  },
  taken: {
    subject: "Bạn đã có tài khoản",
    paragraphs: [
      "Có người vừa đăng ký bằng địa chỉ email này, nhưng địa chỉ đã có tài khoản. Nếu đó là bạn, hãy đăng nhập. Nếu bạn quên mật khẩu, hãy mở liên kết này trong vòng 1 giờ để đặt mật khẩu mới:",
      "Nếu không phải bạn, hãy bỏ qua email này. Tài khoản của bạn không có gì thay đổi.",
    ],
  },
  reset: {
    subject: "Đặt lại mật khẩu",
    paragraphs: [
      "Hãy mở liên kết này trong vòng 1 giờ để đặt mật khẩu mới:",
      "Khi đặt mật khẩu mới, bạn sẽ bị đăng xuất khỏi mọi thiết bị. Nếu bạn không yêu cầu, hãy bỏ qua email này: mật khẩu cũ vẫn dùng được.",
    ],
  },
  welcome: {
    subject: "Tài khoản của bạn đã sẵn sàng",
    paragraphs: [
      "Bạn vừa được mở một tài khoản với địa chỉ email này. Hãy mở liên kết này trong vòng 7 ngày để đặt mật khẩu:",
      "Sau đó bạn có thể đăng nhập và tạo khóa API. Nếu liên kết hết hạn, hãy dùng “Quên mật khẩu?” ở trang đăng nhập.",
    ],
  },
  changed: {
    subject: "Mật khẩu đã được thay đổi",
    paragraphs: [
      "Mật khẩu tài khoản của bạn vừa được thay đổi, và các thiết bị khác đã bị đăng xuất.",
      "Nếu không phải bạn, hãy đặt lại mật khẩu ngay và kiểm tra các khóa API của mình.",
    ],
  },
  "email-changed": {
    subject: "Địa chỉ email của tài khoản đã được thay đổi",
    paragraphs: [
      "Bộ phận hỗ trợ vừa thay đổi địa chỉ email của tài khoản bạn:",
      "Hãy đăng nhập bằng địa chỉ mới và mật khẩu cũ. Mọi thiết bị đã bị đăng xuất; các khóa API vẫn dùng được.",
      "Nếu bạn không yêu cầu, hãy liên hệ hỗ trợ ngay.",
    ],
  },
  closed: {
    subject: "Tài khoản của bạn đã được đóng",
    paragraphs: [
      "Bộ phận hỗ trợ vừa đóng tài khoản của bạn. Các khóa API đã bị thu hồi và bạn không thể đăng nhập nữa. Số dư vẫn được giữ:",
      "Nếu bạn không yêu cầu, hoặc muốn mở lại tài khoản hay nhận lại số dư, hãy liên hệ hỗ trợ.",
    ],
  },
  "factor-on": {
    subject: "Đã bật xác thực hai bước",
    paragraphs: [
      "Từ giờ, khi đăng nhập bạn cần thêm mã từ ứng dụng xác thực. Hãy giữ các mã khôi phục ở nơi an toàn: khi không có ứng dụng, bạn có thể dùng mỗi mã một lần.",
      "Nếu không phải bạn, hãy liên hệ hỗ trợ ngay.",
    ],
  },
  "factor-off": {
    subject: "Đã tắt xác thực hai bước",
    paragraphs: [
      "Từ giờ, chỉ cần mật khẩu là đăng nhập được vào tài khoản của bạn.",
      "Nếu không phải bạn, hãy đổi mật khẩu, bật lại xác thực hai bước và kiểm tra các khóa API.",
    ],
  },
  "key-made": {
    subject: "Khóa API mới",
    paragraphs: [
      "Một khóa API vừa được tạo trong tài khoản của bạn:",
      "Nếu không phải bạn, hãy thu hồi khóa này và đổi mật khẩu ngay.",
    ],
  },
  "key-shown": {
    subject: "Khóa API đã được hiển thị",
    paragraphs: [
      "Khóa API này vừa được hiển thị trong một trình duyệt đã đăng nhập vào tài khoản của bạn:",
      "Trong 30 ngày tới, chúng tôi không báo lại cho khóa và trình duyệt này. Nếu không phải bạn, hãy thu hồi khóa và đổi mật khẩu ngay.",
    ],
  },
  "team-invited": {
    subject: "Lời mời vào một nhóm",
    paragraphs: [
      "Bạn được mời dùng chung ví của người khác: họ trả tiền cho các lượt gọi bạn thực hiện bằng khóa API của riêng bạn trong nhóm. Người mời, và trang để chấp nhận hoặc từ chối:",
      "Hãy đăng nhập bằng địa chỉ email này, hoặc đăng ký nếu bạn chưa có tài khoản. Nếu bạn không biết người mời, hãy bỏ qua email này.",
    ],
  },
  "new-browser": {
    subject: "Đăng nhập từ trình duyệt mới",
    paragraphs: [
      "Có người vừa đăng nhập vào tài khoản của bạn từ một trình duyệt mới:",
      "Nếu không phải bạn, hãy đổi mật khẩu ngay: các thiết bị khác sẽ bị đăng xuất. Sau đó hãy kiểm tra các khóa API.",
    ],
  },
};

const EN: Wordings = {
  verify: {
    subject: "Verify your email address",
    paragraphs: [
      "Thank you for signing up. Open this link within 48 hours to verify your email address:",
      "You can then create API keys. If you did not sign up, ignore this email and do not open the link.",
    ],
  },
  taken: {
    subject: "You already have an account",
    paragraphs: [
      "Someone tried to sign up with this email address, which already has an account. If it was you, sign in. If you forgot your password, open this link within 1 hour to set a new one:",
      "If it was not you, ignore this email. Nothing about your account has changed.",
    ],
  },
  reset: {
    subject: "Reset your password",
    paragraphs: [
      "Open this link within 1 hour to set a new password:",
      "A new password signs you out on every device. If you did not ask for this, ignore this email: your old password still works.",
    ],
  },
  welcome: {
    subject: "Your account is ready",
    paragraphs: [
      "An account was made for you with this email address. Open this link within 7 days to set a password:",
      "You can then sign in and create API keys. If the link has expired, use “Forgot your password?” on the sign-in page.",
    ],
  },
  changed: {
    subject: "Your password was changed",
    paragraphs: [
      "The password of your account was just changed, and your other devices were signed out.",
      "If it was not you, reset your password immediately and check your API keys.",
    ],
  },
  "email-changed": {
    subject: "The email address of your account was changed",
    paragraphs: [
      "Our support just changed the email address of your account:",
      "Sign in with the new address and the same password as before. Every device was signed out; your API keys still work.",
      "If you did not ask for this, contact support immediately.",
    ],
  },
  closed: {
    subject: "Your account was closed",
    paragraphs: [
      "Our support just closed your account. Its API keys are revoked, and you cannot sign in any more. The balance stays:",
      "If you did not ask for this, or want the account open again or its balance back, contact support.",
    ],
  },
  "factor-on": {
    subject: "Two-step sign-in is on",
    paragraphs: [
      "From now on, signing in also takes a code from your authenticator app. Keep the recovery codes in a safe place: without the app, you can sign in with each of them once.",
      "If it was not you, contact support immediately.",
    ],
  },
  "factor-off": {
    subject: "Two-step sign-in is off",
    paragraphs: [
      "From now on, your password alone signs in to your account.",
      "If it was not you, change your password, switch two-step sign-in on again and check your API keys.",
    ],
  },
  "key-made": {
    subject: "New API key",
    paragraphs: [
      "An API key was just created in your account:",
      "If it was not you, revoke the key and change your password immediately.",
    ],
  },
  "key-shown": {
    subject: "An API key was shown",
    paragraphs: [
      "This API key was just shown in a browser that is signed in to your account:",
      "We do not tell you again for this key and browser in the next 30 days. If it was not you, revoke the key and change your password immediately.",
    ],
  },
  "team-invited": {
    subject: "An invitation to a team",
    paragraphs: [
      "You are invited to work on another person's wallet: they pay for the calls that you make with API keys of your own in their team. Who invites you, and the page to accept or decline:",
      "Sign in with this email address, or sign up if you have no account yet. If you do not know who invites you, ignore this email.",
    ],
  },
  "new-browser": {
    subject: "Sign-in from a new browser",
    paragraphs: [
      "Someone just signed in to your account from a new browser:",
      "If it was not you, change your password immediately: that signs out all other devices. Then check your API keys.",
    ],
  },
};
