import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { formatVnd } from "../../core/catalogue/amount.ts";
import type { Failpoint } from "../../core/process/failpoint.ts";
import { admin, type Customer, wallet } from "../support/admin.ts";
import { ArmedGateway } from "../support/armed.ts";
import { bodyOf } from "../support/ask.ts";
import type { GatewayOptions, TestGateway } from "../support/gateway.ts";

const PATH = "/v1/messages";
export const CREDIT_VND = 1_000;
/** This model reasons only if it is asked to: a stream of such a model is held a slice at a time, and extended. */
const MODEL = "claude-opus-4-8";
const PRICE_MICRO_VND = 40_000;
const INPUT_TOKENS = 20;
/** A lease, plus a margin for a machine with much else to do. */
export const COMMIT_TIMEOUT_MS = 300_000;

/** The facts about a wallet that must be true at the end. */
export interface Claim {
  readonly what: string;
  readonly customer: Customer;
  /**
   * The cost of its one call. If the client did not get the whole reply, the charge is this or 0.
   */
  readonly costVnd: string;
  readonly isWhole: boolean;
  /** The sum of all movements except calls. */
  readonly creditVnd: number;
}

interface CallOptions {
  readonly outputTokens?: number;
  readonly streamed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes a call, and retries on 503 as clients do. */
export async function call(gateway: TestGateway, customer: Customer, options: CallOptions = {}) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const { status, ...done } = await callOnce(gateway, customer, options);
    if (status !== 503 || performance.now() > deadline) return done;
    await delay(50);
  }
}

/** Sends a call and reads the reply; `isWhole` if its last byte arrived. Status 0: no reply. */
async function callOnce(
  gateway: TestGateway,
  { key }: Customer,
  { outputTokens = 30, streamed = false, headers = {} }: CallOptions,
): Promise<{ costVnd: string; isWhole: boolean; status: number }> {
  const directive = { input_tokens: INPUT_TOKENS, output_tokens: outputTokens, event_delay_ms: 15 };
  const body = bodyOf(PATH, directive, {
    model: MODEL,
    stream: streamed,
    max_tokens: 4 * outputTokens,
  });
  const costVnd = formatVnd((INPUT_TOKENS + outputTokens) * PRICE_MICRO_VND);
  try {
    const response = await fetch(gateway.url + PATH, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key, ...headers },
      body,
    });
    const text = await response.text();
    const isWhole = streamed ? text.includes("event: message_stop") : text.endsWith("}");
    const { status } = response;
    return { costVnd, isWhole: isWhole && status === 200, status };
  } catch {
    return { costVnd, isWhole: false, status: 0 };
  }
}

/**
 * Reaches each point in a running gateway; returns what must be true of the customer afterwards.
 */
export const DRIVES: Partial<
  Record<Failpoint, (gateway: TestGateway, customer: Customer) => Promise<Partial<Claim>>>
> = {
  "hold.before": call,
  "hold.after": call,
  "wallet.read": call,
  "wallet.loaded": call,
  "post.before": call,
  "post.after": call,
  "commit.read": call,
  "commit.committed": call,
  "commit.acknowledged": call,
  "extend.before": (gateway, customer) =>
    call(gateway, customer, { streamed: true, outputTokens: 100 }),
  "extend.after": (gateway, customer) =>
    call(gateway, customer, { streamed: true, outputTokens: 100 }),
  "void.before": refuse,
  "void.after": refuse,
  "credit.committed": (gateway, customer) => move(gateway, customer, 50),
  "credit.applied": (gateway, customer) => move(gateway, customer, 50),
  "debit.posted": (gateway, customer) => move(gateway, customer, -50),
  "debit.committed": (gateway, customer) => move(gateway, customer, -50),
};

async function refuse(gateway: TestGateway, customer: Customer): Promise<Partial<Claim>> {
  await call(gateway, customer, { headers: { "x-refuse": "1" } });
  return { costVnd: "0" };
}

async function move(gateway: TestGateway, customer: Customer, vnd: number) {
  await sendMovement(gateway, customer, vnd).catch(() => {});
  return { creditVnd: CREDIT_VND + vnd };
}

/** The reference never changes, so the movement can be sent again if its reply is lost. */
export function sendMovement(gateway: TestGateway, { accountId }: Customer, vnd: number) {
  const movement = { amount_vnd: vnd, reference: `move ${accountId}`, reason: "test" };
  return admin(gateway, "POST", `/accounts/${accountId}/credits`, movement);
}

/** Drives a gateway to this failpoint until it dies. Returns what must be true afterwards. */
export async function crash(
  point: Failpoint,
  how: GatewayOptions,
  customer: Customer,
): Promise<{ armed: ArmedGateway; claim: Claim }> {
  const drive = DRIVES[point];
  assert.ok(drive, point);
  const armed = await ArmedGateway.start(point, how);
  const claim = await drive(armed.gateway, customer);
  await armed.died();
  const rest = { costVnd: "0", isWhole: false, creditVnd: CREDIT_VND };
  return { armed, claim: { ...rest, what: point, customer, ...claim } };
}

/** Makes a call, and runs `happens` between its hold and its end. */
export async function callWhile(gateway: TestGateway, customer: Customer, happens: () => unknown) {
  const running = call(gateway, customer, { streamed: true, outputTokens: 200 });
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while (!(Number((await wallet(gateway, customer.accountId)).held) > 0)) {
    assert.ok(performance.now() < deadline, "nothing is held");
    await delay(20);
  }
  await happens();
  return running;
}
