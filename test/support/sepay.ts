import { type LocalServer, startLocalServer } from "./local-server.ts";

export const SEPAY_TOKEN = "token-of-sepays-api";

/** A transaction as version 1 of SePay's API lists it. Texts, also for numbers. */
export interface ListedTransaction {
  readonly id: string;
  readonly transaction_date: string;
  readonly account_number: string;
  readonly amount_in: string;
  readonly amount_out: string;
  readonly transaction_content: string;
  readonly reference_number: string;
}

export interface SepayApi extends LocalServer {
  readonly transactions: ListedTransaction[];
  /** The periods that were asked for. */
  readonly requests: URLSearchParams[];
  /** The status of every reply, until it is 200 again. */
  status: number;
}

const LIMIT_MAX = 5_000;
/** It takes two requests a second. */
const PER_SECOND = 2;

/**
 * An HTTP server with SePay's list of transactions, as its documentation says: newest first, between two times in Vietnam
 * that are both included, at most 5000. A wrong token gets status 200 with an empty body, and too many requests get 429
 * with the seconds to wait.
 */
export async function startSepayApi(): Promise<SepayApi> {
  const transactions: ListedTransaction[] = [];
  const requests: URLSearchParams[] = [];
  const times: number[] = [];
  const server = await startLocalServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://sepay");
    if (pathname !== "/userapi/transactions/list") return response.writeHead(404).end();
    if (request.headers.authorization !== `Bearer ${SEPAY_TOKEN}`) return response.end();
    const now = performance.now();
    times.push(now);
    if (times.filter((time) => time > now - 1_000).length > PER_SECOND) {
      return response.writeHead(429, { "x-sepay-userapi-retry-after": "1" }).end();
    }
    requests.push(searchParams);
    if (api.status !== 200) return response.writeHead(api.status).end();
    const first = searchParams.get("transaction_date_min") ?? "";
    const last = searchParams.get("transaction_date_max") ?? "9999";
    const limit = Math.min(Number(searchParams.get("limit") ?? LIMIT_MAX), LIMIT_MAX);
    const found = transactions
      .filter(({ transaction_date: at }) => at >= first && at <= last)
      .sort((one, other) => other.transaction_date.localeCompare(one.transaction_date))
      .slice(0, limit)
      .map((one) => ({
        ...{ bank_brand_name: "Vietcombank", accumulated: "0.00", code: null, sub_account: null },
        ...{ bank_account_id: "19", ...one },
      }));
    response.setHeader("content-type", "application/json");
    const messages = { success: true };
    return response.end(
      JSON.stringify({ status: 200, error: null, messages, transactions: found }),
    );
  });
  const api: SepayApi = { ...server, transactions, requests, status: 200 };
  return api;
}
