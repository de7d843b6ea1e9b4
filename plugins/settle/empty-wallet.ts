import { type Call, discountBpsAt, type Refusal, type Verdict } from "../../core/plugin/index.ts";
import type { Wallets } from "./posting.ts";

/** A body of this declared length is cheap to read. */
const SHORT_BYTES_MAX = 64 * 1024;

/** With a discount of 100 % calls are free. */
const FREE_BPS = 10_000;

/**
 * Refuses a long body if the wallet is empty, while only its headers have arrived: anyone can have a key, and reading
 * and parsing 20 MB costs more than such a caller ever pays. Short bodies are read first; their hold refuses them.
 */
export function emptyWallet(
  call: Call,
  wallets: Wallets,
  nowMs: number,
  refusal: () => Refusal,
): Verdict | Promise<Verdict> {
  const { key, headers, endpoint } = call;
  const isPriced = endpoint.serves.length > 0;
  const isShort = Number(headers["content-length"]) <= SHORT_BYTES_MAX;
  if (!key || !isPriced || isShort) return undefined;
  if (discountBpsAt(key.discountBps, key.discounts, nowMs) === FREE_BPS) return undefined;
  return wallets.balances(key.accountId).then(
    (balances) =>
      balances === undefined || balances.availableMicroVnd <= 0 ? refusal() : undefined,
    // If this check fails, the hold decides, and reports what is wrong with the store.
    () => undefined,
  );
}
