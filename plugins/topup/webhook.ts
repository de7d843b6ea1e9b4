import {
  done,
  failpoint,
  isRefusal,
  type PublicRoute,
  refuse,
  type Services,
  ThrottledLog,
  withTimeout,
} from "../../core/plugin/index.ts";
import { codesIn } from "./code.ts";
import type { Crediting } from "./crediting.ts";
import { type Notification, readNotification } from "./notification.ts";
import type { Settings } from "./options.ts";
import type { WebhookGuard } from "./signature.ts";
import { type Hindrance, recordTransfer } from "./transfers.ts";

/** The bank waits only a few seconds for the reply. A credit that takes longer is completed by a sweep. */
const CREDIT_WAIT_MS = 3_000;

/**
 * Route for the bank's notifications. Replies `{"success": true}` once the transfer is durably recorded. After any other
 * reply SePay sends the notification again.
 */
export function webhookRoute(
  services: Services,
  settings: Settings,
  guard: WebhookGuard,
  crediting: Crediting,
  counts: { unmatched: number; refused: number },
): PublicRoute {
  const { database, log } = services;
  // Anyone can send forged notifications, any number of them.
  const throttledLog = new ThrottledLog(log);

  return {
    method: "POST",
    path: "/sepay",
    async handle(request) {
      const refused = guard.check(request);
      if (refused) {
        counts.refused++;
        const { remoteAddress } = request;
        throttledLog.warn({ remoteAddress, why: refused.message }, "refused a bank notification");
        return refused;
      }
      const notification = readNotification(request.body);
      failpoint("topup.notified");
      const recorded = await record(notification, request.body);
      if (isRefusal(recorded)) return recorded;
      failpoint("topup.recorded");
      const { transfer, isNew } = recorded;
      if (isNew && transfer.state === "unmatched") {
        counts.unmatched++;
        log.warn(
          { transfer: transfer.id, cause: transfer.cause },
          "cannot match a transfer; an operator must decide",
        );
      }
      if (transfer.state === "matched") {
        const credited = crediting.credit(transfer).catch((error: unknown) => {
          log.warn(
            { err: error, transfer: transfer.id },
            "cannot credit a transfer; retrying in 3 s",
          );
        });
        await withTimeout(credited, CREDIT_WAIT_MS);
      }
      return done({ success: true });
    },
  };

  async function record(notification: Notification, payload: Buffer) {
    const hindrance = hindranceOf(notification, settings.bank.account_number);
    try {
      return await recordTransfer(database, {
        id: notification.id,
        incoming: notification.direction === "in",
        amountMicroVnd: notification.amountMicroVnd,
        bank: notification.bank,
        accountNumber: notification.accountNumber,
        content: notification.content,
        bankReference: notification.reference,
        bankTime: notification.time,
        payload,
        hindrance,
        codes: codesIn(notification.texts, settings.order_prefix),
      });
    } catch (error) {
      log.error(
        { err: error, transfer: notification.id },
        "cannot record a transfer; the bank must send it again",
      );
      return refuse.unavailable("The transfer could not be recorded; send it again.");
    }
  }
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

function isAccount(given: string | null, expected: string): boolean {
  return given?.replace(/[^0-9a-z]/gi, "").toUpperCase() === expected.toUpperCase();
}
