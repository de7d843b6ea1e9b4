import { createHmac, timingSafeEqual } from "node:crypto";
import { bytesOfBase32, randomBase32 } from "./base32.ts";

/** The settings that all authenticator apps support: RFC 6238 with SHA-1, six digits, a new code every 30 s. */
const DIGITS = 6;
const STEP_MS = 30_000;
/** A code of the step before or after counts too: the clock of a phone may differ, and typing takes time. */
const STEPS_ASIDE = [-1, 0, 1];
/** 160 bits, as RFC 4226 recommends. */
const SECRET_CHARACTERS = 32;

/** Returns the secret of a new second factor, in base32. */
export function newTotpSecret(): string {
  return randomBase32(SECRET_CHARACTERS);
}

/** Returns the code of a time step. */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", bytesOfBase32(secret)).update(counter).digest();
  const number = mac.readUInt32BE(mac.readUInt8(mac.length - 1) & 0xf) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/**
 * Returns the time step whose code this is; undefined if the code belongs to no step that is valid now. Compares in
 * constant time.
 */
export function stepOf(secret: string, code: string, nowMs: number): number | undefined {
  const given = Buffer.from(code.padEnd(DIGITS).slice(0, DIGITS), "latin1");
  let found: number | undefined;
  for (const aside of STEPS_ASIDE) {
    const step = Math.floor(nowMs / STEP_MS) + aside;
    const isRight = timingSafeEqual(Buffer.from(codeAt(secret, step), "latin1"), given);
    if (isRight && code.length === DIGITS) found = step;
  }
  return found;
}

/** Returns the address that a QR code carries to an authenticator app. */
export function totpUri(secret: string, issuer: string, email: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  const query = `secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
  return `otpauth://totp/${label}?${query}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
}
