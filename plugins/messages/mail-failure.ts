import { isObject } from "../../core/plugin/index.ts";

/** Returns only codes: the message of a mail server may quote the mail, which has a secret link. */
export function reasonOf(error: unknown): { code: unknown; response_code: unknown } {
  const { code, responseCode } = isObject(error) ? error : {};
  return { code, response_code: responseCode };
}

/**
 * Returns true if a retry is pointless: the server refuses the recipient for good. A 5xx to a password, a sender or a text,
 * or by a policy (5.7 of RFC 3463, such as a refused relay), is of a setting or a quota that the operator mends.
 */
export function refusesRecipient(error: unknown): boolean {
  const { code, command, responseCode, response } = isObject(error) ? error : {};
  return (
    code === "EENVELOPE" &&
    command === "RCPT TO" &&
    Number(responseCode) >= 500 &&
    !/^\d{3}[ -]5\.7\./.test(String(response))
  );
}
