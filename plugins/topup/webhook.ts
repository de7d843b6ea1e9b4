import {
  done,
  failpoint,
  isRefusal,
  type PublicRoute,
  refuse,
  type Services,
  ThrottledLog,
  withTimeout,
} from "../../core/contract/index.ts";
import { codesIn } from "./code.ts";
import type { Crediting } from "./crediting.ts";
import { type Notification, readNotification } from "./notification.ts";
import type { Settings } from "./options.ts";
import type { WebhookGuard } from "./signature.ts";
import { type Hindrance, recordTransfer } from "./transfers.ts";

/** The bank waits a few seconds for its answer; what is not credited by then, a sweep finishes. */
const CREDIT_WAIT_MS = 3_000;

/**
 * Takes the bank's notifications. `{"success": true}` says that a transfer is recorded for good; everything
 * else makes SePay send it again.
 */
export function webhookRoute(
  services: Services,
  settings: Settings,
  guard: WebhookGuard,
  crediting: Crediting,
): PublicRoute {
  const { database, log } = services;
  // Forged notifications can come in any number.
  const throttledLog = new ThrottledLog(log);

  return {
    method: "POST",
    path: "/sepay",
    async handle(request) {
      const refused = guard.check(request);
      if (refused) {
        const { remoteAddress } = request;
        throttledLog.warn(
          { remoteAddress, why: refused.message },
          "a bank notification is refused",
        );
        return refused;
      }
      const told = readNotification(request.body);
      failpoint("topup.notified");
      const recorded = await record(told, request.body);
      if (isRefusal(recorded)) return recorded;
      failpoint("topup.recorded");
      const { transfer, isNew, isSame } = recorded;
      if (!isSame) log.warn({ transfer: transfer.id }, "a transfer was told again in other words");
      if (isNew && transfer.state === "unmatched") {
        log.warn(
          { transfer: transfer.id, cause: transfer.cause },
          "a transfer waits for an operator",
        );
      }
      if (transfer.state === "matched") {
        const credited = crediting.credit(transfer).catch((error: unknown) => {
          log.warn({ err: error, transfer: transfer.id }, "a transfer is not credited yet");
        });
        await withTimeout(credited, CREDIT_WAIT_MS);
      }
      return done({ success: true });
    },
  };

  async function record(told: Notification, payload: Buffer) {
    const hindrance = hindranceOf(told, settings.bank.account_number);
    try {
      return await recordTransfer(database, {
        id: told.id,
        incoming: told.direction === "in",
        amountMicroVnd: told.amountMicroVnd,
        bank: told.bank,
        accountNumber: told.accountNumber,
        content: told.content,
        bankReference: told.reference,
        bankTime: told.time,
        payload,
        hindrance,
        codes: codesIn(told.texts, settings.order_prefix),
      });
    } catch (error) {
      log.error({ err: error, transfer: told.id }, "a transfer cannot be recorded");
      return refuse.unavailable("The transfer could not be recorded: send it again.");
    }
  }
}

function hindranceOf(told: Notification, accountNumber: string): Hindrance | undefined {
  if (!told.isReadable) return "unreadable";
  if (told.direction === "out") return "outgoing";
  if (told.direction === "unknown") return "unknown_direction";
  if (told.amountMicroVnd === null) return "bad_amount";
  const isOurs = [told.accountNumber, told.subAccount].some((one) => isAccount(one, accountNumber));
  return isOurs ? undefined : "wrong_account";
}

function isAccount(given: string | null, expected: string): boolean {
  return given?.replace(/[^0-9a-z]/gi, "").toUpperCase() === expected.toUpperCase();
}
