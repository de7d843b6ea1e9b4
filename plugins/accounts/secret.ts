import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const RANDOM_BYTES = 32;

/** Returns a token for a cookie or a link: 256 random bits. */
export function newToken(): string {
  return randomBytes(RANDOM_BYTES).toString("base64url");
}

/** Returns the hash that the database stores of a token. */
export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Returns the CSRF token of a session. Only our own pages can read it, from a reply. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac("sha256", sessionToken).update("tollgate csrf").digest("base64url");
}

export function isCsrfToken(given: string | undefined, sessionToken: string): boolean {
  if (given === undefined) return false;
  // `timingSafeEqual` needs equal lengths, which digests have.
  return timingSafeEqual(hashOf(given), hashOf(csrfTokenOf(sessionToken)));
}
