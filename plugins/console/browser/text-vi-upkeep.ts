import type { upkeep as english } from "./text-en-upkeep.ts";

/** The texts of the upkeep in Vietnamese. */
export const upkeep = {
  "servers.works": "Hợp với cơ sở dữ liệu",
  upgrade: "Nâng cấp và quay lại",
  "upgrade.commands": "Lệnh nâng cấp",
  "upgrade.back": "Lệnh quay lại {folder}",
  secrets: "Bí mật",
  "secrets.about":
    "Chỉ có tên và tuổi; cổng không hiện giá trị nào. Dưới mỗi tên là biến hoặc tệp chứa nó.",
  "secrets.none": "Không biết bí mật nào ở đây.",
  "secrets.name": "Bí mật",
  "secrets.used": "Dùng cho",
  "secrets.age": "Số ngày tuổi",
  "secrets.both": "Cái cũ và cái mới có thể cùng có hiệu lực.",
  "secrets.one": "Mỗi lúc chỉ một trong hai có hiệu lực.",
  "secrets.how": "Cách đổi",
  "secrets.restart": "Cần khởi động lại",
  "secrets.reload": "Cần nạp lại cấu hình",
} as const satisfies Record<keyof typeof english, string>;
