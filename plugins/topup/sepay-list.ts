import { isObject, type JsonObject, messageOf, parseJson } from "../../core/plugin/index.ts";
import { vietnamTime } from "../page-parts/vietnam-time.ts";
import { readNotification } from "./notification.ts";
import type { Settings } from "./options.ts";
import { reportOf } from "./report.ts";
import { readAmount } from "./statement-amount.ts";
import type { NewTransfer } from "./transfers.ts";

/** SePay lists at most 5000. Fewer keep the reply short: about 500 bytes each. */
export const LISTED_MAX = 1_000;
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/** Why SePay's list cannot be read, and how long SePay asks to wait, in seconds. */
export class ListFailure extends Error {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds = 0) {
    super(message);
    this.name = "ListFailure";
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Returns the incoming transfers to the bank account that SePay lists from `from` to `to`, both included; undefined if
 * there are `LISTED_MAX` or more, of which some are missing. Reads version 1 of SePay's API: its ids are those of the
 * notifications, and those of version 2 are not. Throws a ListFailure.
 */
export async function listedTransfers(
  settings: Settings,
  poll: NonNullable<Settings["poll"]>,
  from: Date,
  to: Date,
  stopped: AbortSignal,
): Promise<NewTransfer[] | undefined> {
  const query = new URLSearchParams({
    transaction_date_min: vietnamTime(from),
    transaction_date_max: vietnamTime(to),
    limit: String(LISTED_MAX),
  });
  const address = `${poll.url.replace(/\/+$/, "")}/userapi/transactions/list?${query}`;
  const text = await get(address, poll.token, stopped);
  const reply = parseJson(text);
  const rows = isObject(reply) && reply["status"] === 200 ? reply["transactions"] : undefined;
  if (!Array.isArray(rows)) {
    // To a wrong token version 1 replies with status 200 and an empty body.
    throw new ListFailure("SePay's reply has no list of transactions; check the token");
  }
  if (rows.length >= LISTED_MAX) return undefined;
  return rows.flatMap((row) => reportIn(row, settings) ?? []);
}

async function get(address: string, token: string, stopped: AbortSignal): Promise<string> {
  try {
    const response = await fetch(address, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      // Never send the token to another address.
      redirect: "error",
      signal: AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      const { headers, status } = response;
      const wait = headers.get("x-sepay-userapi-retry-after") ?? headers.get("retry-after") ?? "";
      throw new ListFailure(`SePay replied ${status}`, /^\d{1,5}$/.test(wait) ? Number(wait) : 0);
    }
    return await bodyOf(response);
  } catch (error) {
    if (error instanceof ListFailure) throw error;
    throw new ListFailure(`cannot reach SePay: ${reasonOf(error)}`);
  }
}

async function bodyOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new ListFailure("SePay's reply is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Returns what a row of the list reports; undefined if no money came in, or to another account. */
function reportIn(row: unknown, settings: Settings): NewTransfer | undefined {
  if (!isObject(row) || !/^\d{1,15}$/.test(String(row["id"]))) {
    throw new ListFailure(
      "SePay's list has a transaction without a number as its id; use version 1",
    );
  }
  const amount = readAmount(textIn(row, "amount_in"), ".");
  if ("microVnd" in amount && amount.microVnd <= 0n) return undefined;
  // In the form of a notification.
  const notification = {
    id: String(row["id"]),
    gateway: row["bank_brand_name"],
    transactionDate: row["transaction_date"],
    accountNumber: row["account_number"],
    subAccount: row["sub_account"],
    code: row["code"],
    content: row["transaction_content"],
    transferType: "in",
    transferAmount: textIn(row, "amount_in").replace(/\.0*$/, ""),
    referenceCode: row["reference_number"],
  };
  const read = readNotification(Buffer.from(JSON.stringify(notification)));
  const report = reportOf(read, Buffer.from(JSON.stringify(row)), "poll", settings);
  return report.hindrance === "wrong_account" ? undefined : report;
}

function textIn(row: JsonObject, field: string): string {
  return String(row[field] ?? "");
}

/** Returns the code of a failed connection, or the message. Neither has the address. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : messageOf(error);
}
