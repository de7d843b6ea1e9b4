import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const RANDOM_BYTES = 32;

/** A token for a cookie or a link: 256 random bits. */
export function newToken(): string {
  return randomBytes(RANDOM_BYTES).toString("base64url");
}

/** What the database knows of a token. */
export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** What a page shows that it can read the customer's own answers: bound to the session by its token. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac("sha256", sessionToken).update("tollgate csrf").digest("base64url");
}

export function isCsrfToken(given: string | undefined, sessionToken: string): boolean {
  if (given === undefined) return false;
  // Digests have one length, so that the time of the comparison tells nothing of the token.
  return timingSafeEqual(hashOf(given), hashOf(csrfTokenOf(sessionToken)));
}
