import { type Services, ThrottledLog } from "../../core/plugin/index.ts";
import type { Member } from "./members.ts";

/** Returns a function that mails the owner of a team who has joined it. The member has joined even if it cannot. */
export function joinedMails({ customers, log, messages }: Services) {
  const throttledLog = new ThrottledLog(log);
  return async ({ id, accountId }: Member, email: string): Promise<void> => {
    const page = `${customers.current.publicUrl ?? ""}/dashboard/team`;
    const texts = {
      vi: {
        subject: `${email} đã vào nhóm của bạn`,
        paragraphs: [
          `${email} đã nhận lời mời vào nhóm của bạn, và từ nay có thể gọi bằng tiền trong ví của bạn, trong giới hạn bạn đã đặt.`,
          `Xem, tạm dừng hoặc xóa thành viên tại:\n${page}`,
        ],
      },
      en: {
        subject: `${email} has joined your team`,
        paragraphs: [
          `${email} has taken the invitation to your team, and can spend from your wallet from now on, within the limits that you have set.`,
          `See, pause or remove members here:\n${page}`,
        ],
      },
    };
    const mail = { accountId, cause: `member ${id}`, kind: "member-joined", texts };
    await messages.current.post(mail).catch((error: unknown) => {
      throttledLog.warn({ err: error }, "cannot mail an owner that a member has joined");
    });
  };
}
