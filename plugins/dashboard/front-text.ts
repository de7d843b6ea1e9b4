import type { Language } from "../page-parts/preferences.ts";

const english = {
  title: "One API key for every model, paid in dong",
  lead: "{count} models of {makers} makers at one address. Top up and pay each call exactly: no subscription, no debt.",
  signUp: "Create an account",
  signIn: "Sign in",
  connect: "How to connect",
  other: "Tiếng Việt",
  steps: "How it works",
  step1: "Create an account",
  step1Text: "An email address is enough. Make a key for each device or app.",
  step2: "Top up by VietQR",
  step2Text:
    "Scan the code with a banking app. The money arrives within seconds and never expires.",
  step3: "Change two settings",
  step3Text:
    "Set the base URL and the key in Claude Code, Codex, Cursor, n8n or your own program. Each client can use every chat model.",
  prices: "Models and prices",
  pricesText: "Before discounts. A call is charged by what it used, to a millionth of a dong.",
  model: "Model",
  price: "Price",
  status: "Last day",
  others: "Others",
  from: "from {price}",
  next: "from {day}: {price}",
  mtok: "{price} đ / 1M tokens",
  call: "{price} đ / call",
  image: "{price} đ / image",
  aws: "AWS channel {price}",
  good: "works",
  partly: "disturbed",
  bad: "fails",
  none: "no calls",
  statusText: "The share of the last day’s calls that the provider answered.",
  promises: "What you can rely on",
  promise1: "Never overdrawn",
  promise1Text:
    "A call sets aside the most that it can cost, and gives back the rest when it ends. Your balance never falls below zero.",
  promise2: "No charge for what fails",
  promise2Text: "A call that is refused, or that a provider fails, costs nothing.",
  promise3: "Every dong explained",
  promise3Text:
    "You see each call with its tokens, price and discount, and a statement of every month, as CSV too.",
  promise4: "Your texts stay yours",
  promise4Text: "We record figures for your bill, never your prompts or the replies.",
  support: "Questions? Write to {support}.",
} as const;

const vietnamese: Readonly<Record<keyof typeof english, string>> = {
  title: "Một khóa API cho mọi mô hình, trả bằng tiền Việt",
  lead: "{count} mô hình của {makers} hãng qua một địa chỉ. Nạp tiền trước, dùng bao nhiêu trả bấy nhiêu: không thuê bao, không nợ.",
  signUp: "Tạo tài khoản",
  signIn: "Đăng nhập",
  connect: "Hướng dẫn",
  other: "English",
  steps: "Cách dùng",
  step1: "Tạo tài khoản",
  step1Text: "Chỉ cần một địa chỉ email. Mỗi thiết bị hoặc ứng dụng nên có một khóa API riêng.",
  step2: "Nạp tiền bằng VietQR",
  step2Text: "Quét mã bằng ứng dụng ngân hàng. Tiền vào sau vài giây và không bao giờ hết hạn.",
  step3: "Đổi hai thiết lập",
  step3Text:
    "Đặt base URL và khóa API trong Claude Code, Codex, Cursor, n8n hoặc chương trình của bạn. Công cụ nào cũng dùng được mọi mô hình trò chuyện.",
  prices: "Mô hình và giá",
  pricesText:
    "Giá trước khi giảm. Mỗi lượt gọi được tính theo mức sử dụng thực tế, chính xác đến một phần triệu đồng.",
  model: "Mô hình",
  price: "Giá",
  status: "24 giờ qua",
  others: "Hãng khác",
  from: "từ {price}",
  next: "từ ngày {day}: {price}",
  mtok: "{price} đ / 1 triệu token",
  call: "{price} đ / lượt gọi",
  image: "{price} đ / ảnh",
  aws: "Kênh AWS {price}",
  good: "ổn định",
  partly: "chập chờn",
  bad: "đang lỗi",
  none: "chưa có lượt gọi",
  statusText: "Tỷ lệ lượt gọi trong 24 giờ qua được nhà cung cấp trả lời.",
  promises: "Bạn có thể yên tâm",
  promise1: "Không bao giờ âm tiền",
  promise1Text:
    "Mỗi lượt gọi tạm giữ mức chi phí cao nhất có thể, rồi trả lại phần thừa khi kết thúc. Số dư không bao giờ xuống dưới 0.",
  promise2: "Lỗi thì không tính tiền",
  promise2Text: "Lượt gọi bị từ chối hoặc bị lỗi ở nhà cung cấp không mất phí.",
  promise3: "Rõ ràng từng đồng",
  promise3Text:
    "Bạn xem được token, đơn giá và giảm giá của từng lượt gọi, cùng sao kê hằng tháng, có cả tệp CSV.",
  promise4: "Nội dung là của bạn",
  promise4Text:
    "Chúng tôi chỉ ghi số liệu để tính tiền, không lưu câu hỏi của bạn hay câu trả lời của mô hình.",
  support: "Bạn cần hỗ trợ? Hãy liên hệ {support}.",
};

export type FrontText = Readonly<Record<keyof typeof english, string>>;

/** The texts of the front page, which browsers get as part of it. */
export const frontTexts: Readonly<Record<Language, FrontText>> = {
  vi: vietnamese,
  en: english,
};
