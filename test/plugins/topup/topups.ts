import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import type { TestGateway } from "../../support/gateway.ts";
import type { ConfigChanges } from "../../support/gateway-config.ts";

export const API_KEY = "the-key-that-sepay-sends";
export const HMAC_SECRET = "the-secret-that-sepay-signs-with";
export const BANK = {
  bin: "970436",
  name: "Vietcombank",
  account_number: "0123499999",
  account_name: "TOLLGATE TEST",
};

/** Config of a gateway with top-ups; `x-test-account` names the signed-in account. */
export function topupPlugins(settings: JsonObject = {}): NonNullable<ConfigChanges["plugins"]> {
  const webhook = { api_key: API_KEY, hmac_secret: HMAC_SECRET };
  return {
    accounts: false,
    dashboard: false,
    topup: { bank: BANK, webhook, promotions: { counted: "transfers" }, ...settings },
    [join(packageRoot, "dist/test/support/gate-of-headers.js")]: true,
  };
}

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** The part of a gateway that these tests use, in its own process or in the test's. */
export type Target = Pick<TestGateway, "url">;

/** Sends one request as a customer; `path` is below `/account/v1`. */
export async function as(
  gateway: Target,
  accountId: string | undefined,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${gateway.url}/account/v1${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(accountId !== undefined && { "x-test-account": accountId }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answerOf(response);
}

/** Creates an order, which must succeed. */
export async function order(
  gateway: Target,
  accountId: string,
  amountVnd = 100_000,
): Promise<JsonObject & { id: string; code: string }> {
  const { status, body } = await as(gateway, accountId, "POST", "/top-ups", {
    amount_vnd: amountVnd,
  });
  if (status !== 201) throw new Error(`no order: ${status} ${JSON.stringify(body)}`);
  return { ...body, id: String(body["id"]), code: String(body["code"]) };
}

let transferIds = 1_000 * process.pid;

/** A notification in SePay's format for an incoming 100,000 đ. */
export function transfer(changes: JsonObject = {}): JsonObject {
  return {
    id: ++transferIds,
    gateway: BANK.name,
    transactionDate: "2026-11-21 14:02:37",
    accountNumber: BANK.account_number,
    code: null,
    content: "",
    transferType: "in",
    transferAmount: 100_000,
    accumulated: 19_077_000,
    subAccount: null,
    referenceCode: "MBVCB.3278907687",
    description: "",
    ...changes,
  };
}

/** Sends a notification as SePay does, with the API key. */
export async function notify(
  gateway: Target,
  notification: JsonObject | string,
  headers: Readonly<Record<string, string>> = { authorization: `Apikey ${API_KEY}` },
): Promise<Answer> {
  const body = typeof notification === "string" ? notification : JSON.stringify(notification);
  const response = await fetch(`${gateway.url}/webhooks/sepay`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return answerOf(response);
}

/** The headers with which SePay signs a body at an instant. */
export function signed(body: string, atMs: number, secret = HMAC_SECRET): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return { "x-sepay-timestamp": timestamp, "x-sepay-signature": `sha256=${mac}` };
}

/** The random secret of a gateway whose config has none. */
export function secretOf(data: string): string {
  return readFileSync(join(data, "sepay-webhook-key"), "utf8").trim();
}

async function answerOf(response: Response): Promise<Answer> {
  const body: unknown = await response.json();
  return { status: response.status, body: isObject(body) ? body : { value: body } };
}
