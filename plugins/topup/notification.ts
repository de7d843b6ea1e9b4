import { hash } from "node:crypto";
import { isObject, type JsonObject, MICRO_VND_PER_VND } from "../../core/plugin/index.ts";

/** A bank notification of one transfer, as far as it can be read. */
export interface Notification {
  /** The bank's id of the notification; a digest of the body if it has none. */
  readonly id: string;
  readonly direction: "in" | "out" | "unknown";
  /** The amount; null unless it is a whole number of đ, above 0, that a wallet can hold. */
  readonly amountMicroVnd: bigint | null;
  readonly bank: string | null;
  readonly accountNumber: string | null;
  /** The number of the virtual account, if the transfer went to one. */
  readonly subAccount: string | null;
  /** Texts that may contain the order's code. */
  readonly texts: readonly string[];
  readonly content: string | null;
  readonly reference: string | null;
  readonly time: string | null;
  readonly isReadable: boolean;
}

const AMOUNT_MAX_VND = Math.floor(Number.MAX_SAFE_INTEGER / MICRO_VND_PER_VND);
const TEXT_CHARACTERS_MAX = 2_000;

/**
 * Reads a notification in SePay's form: `id, gateway, transactionDate, accountNumber, code, content,
 * transferType, transferAmount, accumulated, subAccount, referenceCode, description`. Never refuses a notification for
 * its form, since money has arrived: reads as much as it can.
 */
export function readNotification(body: Buffer): Notification {
  const fields = objectIn(body);
  const id = idOf(fields["id"]);
  const content = textOf(fields["content"]);
  const texts = [textOf(fields["code"]), content, textOf(fields["description"])];
  return {
    id: id ?? `unreadable:${hash("sha256", body, "hex").slice(0, 32)}`,
    direction: directionOf(fields["transferType"]),
    amountMicroVnd: amountOf(fields["transferAmount"]),
    bank: textOf(fields["gateway"]),
    accountNumber: textOf(fields["accountNumber"]),
    subAccount: textOf(fields["subAccount"]),
    texts: texts.filter((text) => text !== null),
    content,
    reference: textOf(fields["referenceCode"]),
    time: textOf(fields["transactionDate"]),
    isReadable: id !== undefined,
  };
}

function objectIn(body: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function idOf(value: unknown): string | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && value >= 0 ? String(value) : undefined;
  }
  return typeof value === "string" && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}

function directionOf(value: unknown): Notification["direction"] {
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  return word === "in" || word === "out" ? word : "unknown";
}

function amountOf(value: unknown): bigint | null {
  const amount = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof amount !== "number" || !Number.isInteger(amount)) return null;
  if (amount <= 0 || amount > AMOUNT_MAX_VND) return null;
  return BigInt(amount) * BigInt(MICRO_VND_PER_VND);
}

/** Returns text without control characters, which Postgres rejects. */
export function textOf(value: unknown): string | null {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return null;
  const text = value
    .slice(0, TEXT_CHARACTERS_MAX)
    .replace(/\p{Cc}/gu, " ")
    .trim();
  return text === "" ? null : text;
}
