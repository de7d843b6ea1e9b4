import { randomBase32 } from "./base32.ts";

/** 80 random bits: a hash of them without a salt cannot be guessed. */
const CHARACTERS = 16;
const GROUP = /.{4}(?=.)/g;

/** Returns a random code that people can type, such as `k3vq-77ab-zzr2-o4hd`. */
export function newTypedCode(): string {
  return randomBase32(CHARACTERS).toLowerCase().replace(GROUP, "$&-");
}

/** Returns the characters of a code that count: the same ones however a person types it. */
export function plainCode(typed: string): string {
  return typed.toLowerCase().replace(/[^a-z2-7]/g, "");
}
