import type { refusals as english } from "./text-en-refusals.ts";

/** Why the gateway refuses a change, in Vietnamese. */
export const refusals = {
  "error.wrong_credentials": "Sai email hoặc mật khẩu.",
  "error.wrong_code": "Mã sai hoặc đã dùng. Hãy chờ mã tiếp theo.",
  "error.wrong_password": "Sai mật khẩu.",
  "error.invalid_token": "Liên kết này đã dùng hoặc hết hạn. Hãy xin chủ sở hữu liên kết mới.",
  "error.role_forbids": "Vai trò của bạn không cho phép việc này.",
  "error.own_approval": "Chính bạn đã đề nghị: người khác phải duyệt.",
  "error.approvals_full":
    "Quá nhiều khoản đang chờ người thứ hai. Hãy duyệt hoặc từ chối bớt trước.",
  "error.approval_failed":
    "Đã duyệt, nhưng không thực hiện được. Ghi chú ở trạng thái Thất bại cho biết lý do.",
  "error.approval_decided": "Khoản này đã được quyết định, hoặc đã chờ quá lâu.",
  "error.reference_conflict":
    "Mã tham chiếu này đã dùng cho tài khoản hoặc số tiền khác. Chưa có gì thay đổi.",
  "error.email_taken": "Địa chỉ này đã có người dùng.",
  "error.transfer_not_credited": "Chỉ thu hồi được giao dịch đã cộng tiền.",
  "error.transfer_not_creditable":
    "Thông báo của ngân hàng không có số tiền vào. Hãy cộng tiền cho khách, rồi bỏ qua giao dịch này.",
  "error.transfer_not_unmatched": "Giao dịch không còn chờ chủ. Có thể người khác đã xử lý.",
  "error.credit_refused": "Ví không nhận khoản này. Giao dịch vẫn chưa rõ chủ.",
  "error.below_zero":
    "Không còn gì để trừ: khách đã tiêu hết, hoặc các lượt gọi đang chạy giữ lại. Chưa có gì thay đổi.",
  "error.held_by_calls":
    "Các lượt gọi đang chạy giữ hết số còn lại. Chưa có gì thay đổi; hãy thử lại khi chúng kết thúc.",
  "error.out_of_range": "Số dư sẽ vượt mức tối đa của một ví.",
  "refused.only": "Ví chỉ còn {amount} khả dụng. Chưa có gì thay đổi.",
  "refused.cause": "Tất cả chỉ có {amount}. Chưa có gì thay đổi; hãy nhập nhiều nhất số đó.",
  "refused.before":
    "Trước đó đã hoàn {amount}. Chưa có gì thay đổi; số tiền là tổng của mọi lần, nên hãy nhập ít nhất số đó.",
} as const satisfies Record<keyof typeof english, string>;
