import {
  done,
  failpoint,
  type PublicRoute,
  refuse,
  type Services,
  ThrottledLog,
  withTimeout,
} from "../../core/plugin/index.ts";
import type { Crediting } from "./crediting.ts";
import { readNotification } from "./notification.ts";
import type { Settings } from "./options.ts";
import type { Recording } from "./recording.ts";
import { reportOf } from "./report.ts";
import type { WebhookGuard } from "./signature.ts";

/** The bank waits only a few seconds for the reply. A credit that takes longer is completed by a sweep. */
const CREDIT_WAIT_MS = 3_000;

/**
 * Route for the bank's notifications. Replies `{"success": true}` once the transfer is durably recorded. After any other
 * reply SePay sends the notification again.
 */
export function webhookRoute(
  { log }: Services,
  settings: Settings,
  guard: WebhookGuard,
  recording: Recording,
  crediting: Crediting,
  counts: { refused: number },
): PublicRoute {
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
      const report = reportOf(notification, request.body, "webhook", settings);
      failpoint("topup.notified");
      try {
        const [recorded] = await recording.record([report]);
        failpoint("topup.recorded");
        if (recorded) await withTimeout(crediting.creditSoon(recorded.transfer), CREDIT_WAIT_MS);
        return done({ success: true });
      } catch (error) {
        log.error(
          { err: error, transfer: notification.id },
          "cannot record a transfer; the bank must send it again",
        );
        return refuse.unavailable("The transfer could not be recorded; send it again.");
      }
    },
  };
}
