import { isObject } from "../../core/plugin/index.ts";

/** Returns only codes: the message of a mail server may quote the mail, which has a secret link. */
export function reasonOf(error: unknown): { code: unknown; response_code: unknown } {
  const { code, responseCode } = isObject(error) ? error : {};
  return { code, response_code: responseCode };
}

/** A server that stops or is in trouble, refuses to relay, or has a limit says so at the recipient too. */
const OF_SERVER = /^(?:421\b|454\b|\d{3}[ -]4\.(?:[34]\.|7\.5\d\d\b))/;

/** Returns true if the server takes a mail to this recipient later: a full mailbox, a greylist. It says nothing of others. */
export function delaysRecipient(error: unknown): boolean {
  const { code, command, responseCode, response } = isObject(error) ? error : {};
  if (code !== "EENVELOPE" || command !== "RCPT TO") return false;
  return Number(responseCode) < 500 && !OF_SERVER.test(String(response));
}

/** The address or the mailbox of a recipient (RFC 3463); 5.1.7 and 5.1.8 are of the sender. */
const OF_RECIPIENT = /^5\.(?:1\.(?!7\b|8\b)|2\.)/;
/** Servers refuse the gateway with the codes of an unknown mailbox too, if they have no code of RFC 3463. */
const OF_GATEWAY =
  /\b(?:relay|rcpthosts|auth|sender|limit|quota|rate|exceed|too many|try again|later|block|black|list|spam|policy|denied|prohibit)/i;

/**
 * Returns true if a retry is pointless: the server refuses the recipient for good. A 5xx to a password, a sender or a text,
 * a refused relay or a limit, which many servers send only after the recipient, is of a setting or a quota that the operator
 * mends. In doubt it is that: a retry too many does no harm.
 */
export function refusesRecipient(error: unknown): boolean {
  const { code, command, responseCode, response } = isObject(error) ? error : {};
  if (code !== "EENVELOPE" || command !== "RCPT TO") return false;
  const text = String(response);
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(text) ?? [];
  if (enhanced !== undefined) return OF_RECIPIENT.test(enhanced);
  return [550, 551, 553].includes(Number(responseCode)) && !OF_GATEWAY.test(text);
}
