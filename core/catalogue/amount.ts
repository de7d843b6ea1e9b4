/**
 * Money is an integer number of micro-dong (µđ): 1 đ = 1,000,000 µđ.
 *
 * A price of `p` đ per million tokens is exactly `p` µđ per token, so every cost is a product of integers. Amounts on
 * the hot path are JavaScript numbers, exact up to 2^53 − 1 µđ (9,007,199,254 đ). Larger amounts are refused, never
 * rounded.
 */
export type MicroVnd = number;

export const MICRO_VND_PER_VND = 1_000_000;
export const MICRO_VND_MAX: MicroVnd = Number.MAX_SAFE_INTEGER;
export const BASIS_POINTS = 10_000;

const DIGIT_ZERO = 48;

/**
 * Throws a RangeError unless the amount is a whole number from 0 to `MICRO_VND_MAX`. Beyond it, results would be wrong
 * by a µđ without any sign.
 */
export function requireMicroVnd(amount: MicroVnd): void {
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new RangeError(`not an amount of µđ between 0 and ${MICRO_VND_MAX}: ${amount}`);
  }
}

/**
 * Formats µđ as a decimal string of đ, `1500000` as `"1.5"`: at most six decimals, no trailing zero but the one of
 * `"62.8560"`: a Vietnamese reader takes 62.856 đ for 62856 đ, and an amount that can be read as both is refused when
 * it is sent back.
 */
export function formatVnd(amount: MicroVnd | bigint): string {
  return typeof amount === "number" && amount >= 0 ? formatNumber(amount) : formatBigInt(amount);
}

/** The usual case, about ten times faster than BigInt. Whole and rest of a safe integer are exact. */
function formatNumber(micro: MicroVnd): string {
  const rest = micro % MICRO_VND_PER_VND;
  const whole = (micro - rest) / MICRO_VND_PER_VND;
  if (rest === 0) return String(whole);
  const fraction = String(MICRO_VND_PER_VND + rest);
  let end = fraction.length;
  while (fraction.charCodeAt(end - 1) === DIGIT_ZERO) end--;
  // The fraction begins at 1.
  if (end === 4 && whole > 0 && whole < 1000) end = 5;
  return `${whole}.${fraction.slice(1, end)}`;
}

function formatBigInt(amount: MicroVnd | bigint): string {
  const micro = BigInt(amount);
  if (micro < 0n) return `-${formatBigInt(-micro)}`;
  if (micro <= MICRO_VND_MAX) return formatNumber(Number(micro));
  const fraction = (micro % 1_000_000n).toString().padStart(6, "0").replace(/0+$/, "");
  const whole = micro / 1_000_000n;
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}

/**
 * Parses a decimal string of đ into µđ, `"1.5"` into `1500000n`. Returns undefined unless the text has at most 12
 * digits and six decimals.
 */
export function parseVnd(text: string): bigint | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return undefined;
  const micro = BigInt(match[2] ?? "") * 1_000_000n + BigInt((match[3] ?? "").padEnd(6, "0"));
  return match[1] === "-" ? -micro : micro;
}
