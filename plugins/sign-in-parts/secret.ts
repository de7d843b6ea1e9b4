import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const RANDOM_BYTES = 32;

/** Returns a token for a cookie or a link: 256 random bits. */
export function newToken(): string {
  return randomBytes(RANDOM_BYTES).toString("base64url");
}

/** Of a session's token; with the MAC it is as long as any other. */
const SIGNED_RANDOM_BYTES = 24;

/** Returns a token that ends with a MAC: 192 random bits. */
export function newSignedToken(secret: Buffer): string {
  const random = randomBytes(SIGNED_RANDOM_BYTES);
  return Buffer.concat([random, macOf(random, secret)]).toString("base64url");
}

/** Returns false if the token was not made with this secret, so that a forged one costs no query. */
export function isSignedToken(token: string, secret: Buffer): boolean {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== RANDOM_BYTES) return false;
  const mac = macOf(bytes.subarray(0, SIGNED_RANDOM_BYTES), secret);
  return timingSafeEqual(bytes.subarray(SIGNED_RANDOM_BYTES), mac);
}

function macOf(random: Uint8Array, secret: Buffer): Buffer {
  const mac = createHmac("sha256", secret).update(random).digest();
  return mac.subarray(0, RANDOM_BYTES - SIGNED_RANDOM_BYTES);
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
