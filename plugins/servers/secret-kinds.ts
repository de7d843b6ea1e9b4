export type Language = "en" | "vi";
type Texts = Readonly<Record<Language, string>>;

/** The knowledge that changes a secret of one kind. */
export interface SecretKind {
  /** Settings of this kind. */
  readonly is: RegExp;
  /** The name of its file in the data folder, which the gateway makes if the config has none. */
  readonly file?: string;
  readonly usedBy: Texts;
  /** True if the old and the new one can be valid at the same time. */
  readonly overlap: boolean;
  /** The steps before the commands. */
  readonly change: Texts;
  /** A block of `secrets.md` that does all of it, and one of `container.md`, if the secret comes from this variable. */
  readonly block?: { readonly name: string; readonly variable: string };
}

export const WORDS = {
  en: { config: "the config file", data: "the data folder" },
  vi: { config: "tệp cấu hình", data: "thư mục dữ liệu" },
} as const;

export const KINDS: readonly SecretKind[] = [
  {
    is: /^admin\.token$/,
    file: "admin-token",
    usedBy: {
      en: "the admin commands, and the console's sign-in by token; with it gateways also seal the reasoning that translated replies carry",
      vi: "các lệnh quản trị và đăng nhập bảng điều hành bằng token; cổng cũng dùng nó để niêm phong phần suy luận trong các câu trả lời được chuyển đổi",
    },
    overlap: false,
    change: {
      en: "Write a new random text of 48 hex digits instead, or delete the file in the data folder. A gateway refuses the old one as soon as it has the new one. Tokens of `token create` and people's sign-ins go on.",
      vi: "Ghi một chuỗi ngẫu nhiên 48 chữ số hex thay vào, hoặc xóa tệp trong thư mục dữ liệu. Cổng từ chối token cũ ngay khi có token mới. Token tạo bằng `token create` và đăng nhập của người vận hành không đổi.",
    },
    block: { name: "token", variable: "GATEWAY_ADMIN_TOKEN" },
  },
  {
    is: /^stores\.ledger$/,
    usedBy: { en: "the gateways, to reach Postgres", vi: "các cổng, để kết nối Postgres" },
    overlap: false,
    change: {
      en: "Set the new password in Postgres, then in the address, and restart every gateway at once. Open connections stay, but each is replaced when it is 30 to 60 minutes old, and a new one needs the new password.",
      vi: "Đặt mật khẩu mới trong Postgres, rồi trong địa chỉ, và khởi động lại mọi cổng ngay. Kết nối đang mở vẫn chạy, nhưng mỗi kết nối được thay khi đã mở 30 đến 60 phút, và kết nối mới cần mật khẩu mới.",
    },
    block: { name: "postgres", variable: "DATABASE_URL" },
  },
  {
    is: /^stores\.hot(?:\.\d+)?$/,
    usedBy: { en: "the gateways, to reach Redis", vi: "các cổng, để kết nối Redis" },
    overlap: false,
    change: {
      en: "redis-cli CONFIG SET requirepass NEW, then write it into redis.conf and the address, and restart every gateway. Open connections stay, but a new one needs the new password.",
      vi: "redis-cli CONFIG SET requirepass MỚI, rồi ghi vào redis.conf và địa chỉ, và khởi động lại mọi cổng. Kết nối đang mở vẫn chạy, nhưng kết nối mới cần mật khẩu mới.",
    },
  },
  {
    is: /^upstreams\.[^.]+\.(?:keys|headers|credentials)\b/,
    usedBy: { en: "calls to this provider", vi: "lượt gọi tới nhà cung cấp này" },
    overlap: true,
    change: {
      en: "Make a new key at the provider, write it instead of the old one, and see it in use by its last characters: `upstreams`. Only then delete the old one there.",
      vi: "Tạo khóa mới ở nhà cung cấp, ghi thay khóa cũ, và xem nó được dùng qua các ký tự cuối: `upstreams`. Sau đó mới xóa khóa cũ ở nhà cung cấp.",
    },
  },
  {
    is: /^accounts\.master_keys\.\d+\.key$/,
    file: "master-key",
    usedBy: {
      en: "the gateways, to seal customers' API keys and second factors",
      vi: "các cổng, để niêm phong khóa API và xác thực hai bước của khách hàng",
    },
    overlap: true,
    change: {
      en: "Add the new one to accounts.master_keys, with an id of its own, second on every gateway; then first on every gateway. The next start seals everything again and logs it. Then delete the old one, but keep it as long as a backup from before. A file in the data folder goes into the list first, with the id `file`.",
      vi: "Thêm khóa mới vào accounts.master_keys, với id riêng, đứng thứ hai ở mọi cổng; rồi đứng đầu ở mọi cổng. Lần khởi động tiếp theo niêm phong lại tất cả và ghi vào log. Sau đó xóa khóa cũ, nhưng giữ lại chừng nào còn bản sao lưu cũ. Tệp trong thư mục dữ liệu phải vào danh sách trước, với id `file`.",
    },
  },
  {
    is: /^topup\.webhook\.(?:hmac_secret|api_key)$/,
    file: "sepay-webhook-key",
    usedBy: {
      en: "SePay, to sign the news of transfers",
      vi: "SePay, để ký thông báo chuyển khoản",
    },
    overlap: false,
    change: {
      en: "Set the new one at SePay and here in the same minute. Then let SePay send again what failed; a transfer counts once.",
      vi: "Đặt bí mật mới ở SePay và ở đây trong cùng một phút. Sau đó cho SePay gửi lại những thông báo lỗi; mỗi giao dịch chỉ tính một lần.",
    },
  },
  {
    is: /^topup\.poll\.token$/,
    usedBy: {
      en: "the gateway, to read SePay's list of transfers",
      vi: "cổng, để đọc danh sách giao dịch của SePay",
    },
    overlap: true,
    change: {
      en: "Make a new token at SePay, write it instead of the old one, then delete the old one there.",
      vi: "Tạo token mới ở SePay, ghi thay token cũ, rồi xóa token cũ ở SePay.",
    },
  },
  {
    is: /^messages\.smtp\.password$/,
    usedBy: { en: "mails, at the mail server", vi: "thư gửi đi, ở máy chủ thư" },
    overlap: false,
    change: {
      en: "Set it at the mail server, then here. Mails that were refused in between are sent again by themselves, for two days; later: `message retry-all`.",
      vi: "Đặt ở máy chủ thư, rồi ở đây. Thư bị từ chối trong lúc đó tự gửi lại trong hai ngày; sau đó: `message retry-all`.",
    },
  },
  {
    is: /^messages\.operators\.webhook\.secret$/,
    usedBy: {
      en: "the receiver of the webhook to operators, to check signatures",
      vi: "nơi nhận webhook cho người vận hành, để kiểm tra chữ ký",
    },
    overlap: false,
    change: {
      en: "Let the receiver accept both, change it here, try it: `message test`.",
      vi: "Cho nơi nhận chấp nhận cả hai, đổi ở đây, thử: `message test`.",
    },
  },
  {
    is: /^messages\.operators\.telegram\.token$/,
    usedBy: { en: "alerts by Telegram", vi: "cảnh báo qua Telegram" },
    overlap: false,
    change: {
      en: "Ask BotFather for a new one (/revoke), which ends the old one; write it here, try it: `message test`.",
      vi: "Xin BotFather token mới (/revoke), token cũ hết hiệu lực ngay; ghi vào đây, thử: `message test`.",
    },
  },
  {
    is: /^$/,
    file: "state-key",
    usedBy: {
      en: "this gateway, to seal the reasoning that translated replies carry",
      vi: "cổng này, để niêm phong phần suy luận trong các câu trả lời được chuyển đổi",
    },
    overlap: false,
    change: {
      en: "Delete the file; the next start makes a new one. Conversations that run go on without their earlier reasoning.",
      vi: "Xóa tệp; lần khởi động tiếp theo tạo tệp mới. Hội thoại đang chạy tiếp tục mà không có phần suy luận trước đó.",
    },
  },
];

/** Settings of plugins that are not listed above, by their names. */
export const GENERIC: SecretKind = {
  is: /(?:^|\.)(?:\w*_)?(?:token|secret|password|key|keys)(?:\.\d+)?$|^traces\.headers\./,
  usedBy: { en: "see the plugin or service of this name", vi: "xem plugin hoặc dịch vụ cùng tên" },
  overlap: false,
  change: {
    en: "Write the new one instead of the old one, here and at the service, in the same minute.",
    vi: "Ghi bí mật mới thay cho bí mật cũ, ở đây và ở dịch vụ, trong cùng một phút.",
  },
};
