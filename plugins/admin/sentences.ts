type Language = "en" | "vi";

/** An action as the audit trail has it. */
interface Told {
  readonly operator: string;
  /** Method and route. */
  readonly action: string;
  /** The address of the account; undefined if the action is of none. */
  readonly account: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly status: number | null;
}

/** The limits of a key in a request. */
const LIMITS: Readonly<Record<Language, string>> = {
  en:
    "[; until: {ends_at}][; models: {models}][; addresses: {addresses}]" +
    "[; đ a day: {day_vnd}][; đ a month: {month_vnd}][; đ in all: {total_vnd}]" +
    "[; calls a minute: {calls_per_minute}][; calls at a time: {calls_at_once}]",
  vi:
    "[; đến: {ends_at}][; mô hình: {models}][; địa chỉ: {addresses}]" +
    "[; đ mỗi ngày: {day_vnd}][; đ mỗi tháng: {month_vnd}][; tổng đ: {total_vnd}]" +
    "[; lượt gọi mỗi phút: {calls_per_minute}][; lượt gọi cùng lúc: {calls_at_once}]",
};

/**
 * The deeds of operators, by the route without its prefix and parameters. `{name}` is a field of the request, and
 * `[…]` is left out if its field is missing.
 */
const DONE: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  "POST accounts": { en: "created the account {email}", vi: "tạo tài khoản {email}" },
  "POST accounts/credits": {
    en: "credited {account} {amount_vnd} đ",
    vi: "cộng {amount_vnd} đ cho {account}",
  },
  "POST accounts/adjustments": {
    en: "adjusted the wallet of {account} by {amount_vnd} đ",
    vi: "điều chỉnh ví của {account} {amount_vnd} đ",
  },
  "POST accounts/drift": {
    en: "mended a drift of {difference_vnd} đ[ in the purse {purse}] of {account}",
    vi: "sửa lệch {difference_vnd} đ[ trong ngân quỹ {purse}] của {account}",
  },
  "POST accounts/discount": {
    en: "set the discount of {account} to {discount_bps} %",
    vi: "đặt chiết khấu của {account} thành {discount_bps} %",
  },
  "POST accounts/suspend": { en: "suspended {account}", vi: "tạm khóa {account}" },
  "POST accounts/resume": { en: "opened {account} again", vi: "mở lại {account}" },
  "POST accounts/close": { en: "closed {account}", vi: "đóng tài khoản {account}" },
  "POST accounts/email": {
    en: "changed the address of {account} to {to}",
    vi: "đổi địa chỉ của {account} thành {to}",
  },
  "POST accounts/welcome": {
    en: "mailed {account} a link to set a password",
    vi: "gửi {account} liên kết đặt mật khẩu",
  },
  "POST accounts/second-factor/off": {
    en: "switched off the second factor of {account}",
    vi: "tắt xác thực hai bước của {account}",
  },
  "POST accounts/keys": {
    en: `created the key {name} of {account}${LIMITS.en}`,
    vi: `tạo khóa {name} của {account}${LIMITS.vi}`,
  },
  "POST keys/limit": {
    en: "limited the key {key}[ ({key_name})][ of {account}][; requests a minute: {requests_per_minute}]",
    vi: "giới hạn khóa {key}[ ({key_name})][ của {account}][; yêu cầu mỗi phút: {requests_per_minute}]",
  },
  "POST keys/limits": {
    en: `limited the key {key}[ ({key_name})][ of {account}][; paused: {paused}]${LIMITS.en}`,
    vi: `giới hạn khóa {key}[ ({key_name})][ của {account}][; tạm dừng: {paused}]${LIMITS.vi}`,
  },
  "POST keys/revoke": {
    en: "revoked the key {key}[ ({key_name})][ of {account}]",
    vi: "thu hồi khóa {key}[ ({key_name})][ của {account}]",
  },
  "POST accounts/notes": { en: "noted about {account}", vi: "ghi chú về {account}" },
  "POST accounts/sessions/end": {
    en: "ended all sessions of {account}",
    vi: "kết thúc mọi phiên của {account}",
  },
  "POST accounts/team/members/remove": {
    en: "removed the member {member} from the team of {account}",
    vi: "xóa thành viên {member} khỏi nhóm của {account}",
  },
  "POST refunds": {
    en: "refunded[ {amount_vnd} đ of][ the call {call}][ the top-up {top_up}][ of {account}]",
    vi: "hoàn[ {amount_vnd} đ của][ lượt gọi {call}][ lần nạp {top_up}][ của {account}]",
  },
  "POST transfers/assign": {
    en: "assigned the transfer {transfer}[ to {account}][, order {order}]",
    vi: "gán giao dịch {transfer}[ cho {account}][, đơn {order}]",
  },
  "POST transfers/reverse": {
    en: "took the transfer {transfer}[ of {account}] back",
    vi: "thu hồi giao dịch {transfer}[ của {account}]",
  },
  "POST transfers/ignore": {
    en: "ignored the transfer {transfer}",
    vi: "bỏ qua giao dịch {transfer}",
  },
  "POST transfers/return": {
    en: "noted that the transfer {transfer} was sent back",
    vi: "ghi nhận giao dịch {transfer} đã được chuyển trả",
  },
  "POST transfers/import": { en: "imported a bank statement", vi: "nhập sao kê ngân hàng" },
  "POST upstreams/switch": {
    en: "switched the provider {name}[ for {model}][ key {key}] {off}",
    vi: "{off} nhà cung cấp {name}[ cho {model}][ khóa {key}]",
  },
  "POST upstreams/try": { en: "tried the provider {name}", vi: "gọi thử nhà cung cấp {name}" },
  "POST maintenance": { en: "switched maintenance {enabled}", vi: "{enabled} chế độ bảo trì" },
  "POST quarantine/retry": {
    en: "committed the call {call}[ of {account}] again",
    vi: "ghi lại lượt gọi {call}[ của {account}]",
  },
  "POST reload": {
    en: "reloaded the config[; mail about its prices: {announce}]",
    vi: "nạp lại cấu hình[; thư về giá: {announce}]",
  },
  // The gateway records it beside the reload, or the start, that brought the prices.
  "prices changed": { en: "changed prices: {changes}", vi: "đổi giá: {changes}" },
  "POST archive/close": { en: "closed the month {month}", vi: "đóng tháng {month}" },
  "POST archive/reopen": { en: "opened the month {month} again", vi: "mở lại tháng {month}" },
  "POST archive/detach": {
    en: "took the month {month} out of the ledger",
    vi: "tách tháng {month} khỏi sổ cái",
  },
  "POST archive/drop": {
    en: "deleted the rows of the month {month}",
    vi: "xóa các dòng của tháng {month}",
  },
  "POST vouchers": {
    en: "made voucher codes: {count} × {amount_vnd} đ[; uses of each: {uses}][; from: {from}][; until: {until}][; for: {note}]",
    vi: "tạo mã quà tặng: {count} × {amount_vnd} đ[; lượt dùng mỗi mã: {uses}][; từ: {from}][; đến: {until}][; để: {note}]",
  },
  "POST vouchers/open": {
    en: "opened the vouchers {voucher}[ ({note})]",
    vi: "mở đợt mã quà tặng {voucher}[ ({note})]",
  },
  "POST vouchers/cancel": {
    en: "cancelled the vouchers {voucher}[ ({note})]",
    vi: "hủy đợt mã quà tặng {voucher}[ ({note})]",
  },
  "POST messages/retry": { en: "sent the message {id} again", vi: "gửi lại thư {id}" },
  "POST messages/retry-all": {
    en: "sent the given-up messages again",
    vi: "gửi lại các thư chưa gửi được",
  },
  "POST messages/drop": { en: "deleted the message {id}", vi: "xóa thư {id}" },
  "POST messages/drop-all": {
    en: "deleted the given-up messages",
    vi: "xóa các thư chưa gửi được",
  },
  "POST messages/test": {
    en: "tried the channels of messages to operators",
    vi: "thử các kênh báo cho người vận hành",
  },
  "POST restore": { en: "accepted a restored ledger", vi: "chấp nhận sổ cái đã khôi phục" },
  "POST announcements": { en: "announced {name}", vi: "gửi thông báo {name}" },
  "POST invitations": { en: "made an invitation[ {note}]", vi: "tạo mã mời[ {note}]" },
  "DELETE invitations": {
    en: "deleted the invitation {invitation}",
    vi: "xóa mã mời {invitation}",
  },
  "POST operators": { en: "invited {email} as {role}", vi: "mời {email} với vai trò {role}" },
  "POST operators/role": {
    en: "gave {operator} the role {role}",
    vi: "đặt vai trò {role} cho {operator}",
  },
  "POST operators/reset": {
    en: "reset the access of {operator}",
    vi: "đặt lại quyền của {operator}",
  },
  "POST operators/remove": { en: "removed {operator}", vi: "xóa {operator}" },
  "POST tokens": {
    en: "created the token {name} with the role {role}",
    vi: "tạo token {name} với vai trò {role}",
  },
  "POST tokens/revoke": { en: "revoked the token {name}", vi: "thu hồi token {name}" },
  "POST approvals/approve": {
    en: "approved {approval}[: {amount_vnd} đ][ for {account}][, asked by {asked_by}]",
    vi: "duyệt {approval}[: {amount_vnd} đ][ cho {account}][, do {asked_by} đề nghị]",
  },
  "POST approvals/refuse": {
    en: "refused {approval}[: {amount_vnd} đ][ for {account}][, asked by {asked_by}]",
    vi: "từ chối {approval}[: {amount_vnd} đ][ cho {account}][, do {asked_by} đề nghị]",
  },
};

/** Statuses of movements that need a second person: refused until then, and made but without effect. */
const WAITS: readonly (number | null)[] = [428, 202];
/** The gateway has asked whether to do it, and waits for no one. */
const ASKED = 100;
/** It had counted before, so nothing has changed. */
const COUNTED_BEFORE = 208;

const WORDS = {
  en: {
    token: "The admin token",
    reference: ", reference ",
    reason: ", because ",
    unknown: "; the result is not known",
    waits: "; it waits for a second person",
    asked: "; the gateway asked whether to do it, and did nothing yet",
    before: "; it had counted before, and nothing has changed",
    refused: "; it was refused",
    trial: "; only to see what it would change",
    on: "on",
    off: "off",
    noLimit: "no limit",
    changed: "",
    new: "new: ",
    gone: "gone: ",
    announced: "announced: ",
    withdrawn: "withdrawn: ",
  },
  vi: {
    token: "Token quản trị",
    reference: ", mã ",
    reason: ", vì ",
    unknown: "; chưa rõ kết quả",
    waits: "; chờ người thứ hai",
    asked: "; cổng hỏi lại, chưa làm gì",
    before: "; đã được tính trước đó, không có gì thay đổi",
    refused: "; bị từ chối",
    trial: "; chỉ để xem sẽ thay đổi gì",
    on: "bật",
    off: "tắt",
    noLimit: "không giới hạn",
    changed: "",
    new: "mới: ",
    gone: "bỏ: ",
    announced: "báo trước: ",
    withdrawn: "rút lại: ",
  },
} as const;

/** In these requests a null removes a limit; in others it stands for a field that is missing. */
const SETS_LIMITS = /\/limits?$/;

/** Returns a sentence such as "Lan credited minh@… 200,000 đ, reference X, because …". */
export function sentenceOf(told: Told, language: Language): string {
  const { operator, action, account, details, status } = told;
  const words = WORDS[language];
  const who = /^[0-9a-f]{12}$/.test(operator) ? `${words.token} ${operator}` : operator;
  const route = action.replace(/ \/admin\/v1\//, " ").replace(/\/:\w+/g, "");
  const form = DONE[route]?.[language] ?? action;
  const fields: Record<string, unknown> = {
    ...Object.fromEntries(
      Object.entries(details).map(([name, value]) => [name.replace(/^limits\./, ""), value]),
    ),
    ...(account !== undefined && { account }),
    ...(action === "prices changed" && { changes: changesOf(details, words) }),
    ...(route === "POST vouchers" && { count: details["count"] ?? 1 }),
  };
  if (SETS_LIMITS.test(route)) {
    for (const name in fields) if (name !== "reason") fields[name] ??= words.noLimit;
  }
  const said = form
    .replace(/\[([^\]]*\{(\w+)\}[^\]]*)\]/g, (_, part: string, name: string) =>
      fields[name] == null ? "" : part,
    )
    .replace(/\{(\w+)\}/g, (_, name: string) => textOf(name, fields[name], language));
  const more = (["reference", "reason"] as const).map((name) =>
    fields[name] == null || fields[name] === "" ? "" : words[name] + String(fields[name]),
  );
  const isTrial = details["check"] === true || details["dry_run"] === true;
  return `${who} ${said}${more.join("")}${isTrial ? words.trial : ""}${isTrial && status === COUNTED_BEFORE ? "" : endOf(status, words)}`;
}

/** Returns the changes of prices, which the record has by model and kind: "changed: 10 → 12 đ/Mtok (+20 %)". */
function changesOf(details: Told["details"], words: (typeof WORDS)[Language]): string {
  return Object.entries(details)
    .map(([name, value]) => {
      const text = String(value).replace(
        /^(changed|new|gone|announced|withdrawn): /,
        (_, change: "changed" | "new" | "gone" | "announced" | "withdrawn") => words[change],
      );
      return `${name}: ${text}`;
    })
    .join("; ");
}

function endOf(status: number | null, words: (typeof WORDS)[Language]): string {
  if (status === null) return words.unknown;
  if (WAITS.includes(status)) return words.waits;
  if (status === ASKED) return words.asked;
  if (status === COUNTED_BEFORE) return words.before;
  return status >= 400 ? `${words.refused} (${status})` : "";
}

function textOf(name: string, value: unknown, language: Language): string {
  if (value == null) return "–";
  const { on, off } = WORDS[language];
  if (typeof value === "boolean") return value === (name === "off") ? off : on;
  if (name === "discount_bps") return String(Number(value) / 100);
  if (!name.endsWith("_vnd")) return String(value);
  const [whole = "", part] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, language === "vi" ? "." : ",");
  return part === undefined ? grouped : `${grouped}${language === "vi" ? "," : "."}${part}`;
}
