import { readBankTime } from "./bank-time.ts";
import { codesIn } from "./code.ts";
import type { Notification } from "./notification.ts";
import type { Settings } from "./options.ts";
import type { Hindrance, NewTransfer, Source } from "./transfers.ts";

/** Returns what is recorded of a notification. */
export function reportOf(
  notification: Notification,
  payload: Buffer,
  source: Source,
  { bank, order_prefix }: Settings,
): NewTransfer {
  const time = readBankTime(notification.time ?? "");
  return {
    id: notification.id,
    incoming: notification.direction === "in",
    amountMicroVnd: notification.amountMicroVnd,
    bank: notification.bank,
    accountNumber: notification.accountNumber,
    content: notification.content,
    bankReference: notification.reference,
    bankTime: notification.time,
    bankDay: time?.day ?? null,
    at: time?.at,
    payload,
    source,
    hindrance: hindranceOf(notification, bank.account_number),
    codes: codesIn(notification.texts, order_prefix),
  };
}

function hindranceOf(notification: Notification, accountNumber: string): Hindrance | undefined {
  if (!notification.isReadable) return "unreadable";
  if (notification.direction === "out") return "outgoing";
  if (notification.direction === "unknown") return "unknown_direction";
  if (notification.amountMicroVnd === null) return "bad_amount";
  const isOurs = [notification.accountNumber, notification.subAccount].some((one) =>
    isAccount(one, accountNumber),
  );
  return isOurs ? undefined : "wrong_account";
}

/** Returns true if a number of an account is the expected one, however it is written. */
export function isAccount(given: string | null | undefined, expected: string): boolean {
  return given?.replace(/[^0-9a-z]/gi, "").toUpperCase() === expected.toUpperCase();
}
