import assert from "node:assert/strict";
import { type Customer, createCustomer } from "./admin.ts";
import { ask, bodyOf, CHAT_MODEL, MESSAGES_MODEL } from "./ask.ts";
import type { TestGateway } from "./gateway.ts";
import { allUsage, assertReconciled, microVnd, noCallsInFlight, spent } from "./proof.ts";
import { bodies, type OpenCall, openStream, paths } from "./requests.ts";
import { until } from "./until.ts";

/** A refusal later than this counts as a hang. The limit of the gateway is one second, but of a busy machine it gets little. */
const HANG_MS = 60_000;
const MICRO_VND_PER_TOKEN = { [MESSAGES_MODEL]: 36_000n, [CHAT_MODEL]: 38_000n };
const INPUT_TOKENS = 50;
const STREAM_TOKENS = 100;
const EVENT_DELAY_MS = 40;
export const CREDIT_VND = 100_000;

/**
 * Starts a stream of about four seconds and waits for its first text, so that its hold is taken.
 */
export async function beginStream(gateway: TestGateway, customer: Customer): Promise<OpenCall> {
  const directive = {
    input_tokens: INPUT_TOKENS,
    output_tokens: STREAM_TOKENS,
    deltas: STREAM_TOKENS,
    event_delay_ms: EVENT_DELAY_MS,
  };
  const body = bodies.messages(directive, { model: MESSAGES_MODEL, stream: true });
  const stream = await openStream(gateway, paths.messages, customer, body);
  await stream.until((text) => text.includes("content_block_delta"));
  return stream;
}

/** Reads a stream to its end and fails if it is incomplete. */
export async function assertWhole(stream: OpenCall): Promise<void> {
  const text = await stream.rest();
  assert.ok(text.includes("event: message_stop"), `a stream was cut: ${text.slice(-300)}`);
}

/** The cost of a complete stream. */
export const STREAM_MICRO_VND =
  BigInt(INPUT_TOKENS + STREAM_TOKENS) * (MICRO_VND_PER_TOKEN[MESSAGES_MODEL] ?? 0n);

export interface CallResult {
  readonly status: number;
  readonly tookMs: number;
  /** Untyped: the tests that read it know its shape. */
  readonly body: unknown;
}

/** Makes an unstreamed call, alternating between the two chat protocols. */
export async function callOnce(
  gateway: TestGateway,
  { key }: Pick<Customer, "key">,
  turn: number,
): Promise<CallResult> {
  const path = turn % 2 === 0 ? "/v1/messages" : "/v1/chat/completions";
  const body = bodyOf(path, { input_tokens: INPUT_TOKENS, output_tokens: 10 });
  const startMs = performance.now();
  const response = await ask(gateway.url, key, path, body, AbortSignal.timeout(HANG_MS));
  const answer: unknown = JSON.parse(await response.text());
  return { status: response.status, tookMs: performance.now() - startMs, body: answer };
}

/** The cost of the nth call. */
export function callMicroVnd(turn: number): bigint {
  const price = MICRO_VND_PER_TOKEN[turn % 2 === 0 ? MESSAGES_MODEL : CHAT_MODEL] ?? 0n;
  return BigInt(INPUT_TOKENS + 10) * price;
}

/** Fails unless the call was refused with 503 `service_unavailable`, in the shape of its protocol. */
export function assertUnavailable({ status, body }: CallResult, turn: number): void {
  assert.equal(status, 503);
  const { error, ...around } = body as { error: Record<string, unknown>; type?: string };
  assert.equal(typeof error["message"], "string");
  assert.equal(error["type"], "service_unavailable");
  if (turn % 2 === 0) assert.equal(around.type, "error");
  else assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
}

/** The log after its first `from` characters, without the one line of each call. */
export function logLines({ logs }: TestGateway, from: number): string[] {
  const lines = logs.slice(from).split("\n").filter(Boolean);
  return lines.filter((line) => !line.includes('"msg":"call"'));
}

/** The slowest refusal as unavailable, after the first `from` characters of the log. */
export function slowestRefusalMs({ logs }: TestGateway, from: number): number {
  const lines = logs.slice(from).matchAll(/"latency_ms":(\d+),"status":503,/g);
  return Math.max(0, ...Array.from(lines, (line) => Number(line[1])));
}

/** A customer whose key and wallet every gateway has cached. */
export async function knownCustomer(gateways: readonly TestGateway[]): Promise<Customer> {
  const customer = await createCustomer(gateways[0]!, { creditVnd: CREDIT_VND });
  for (const gateway of gateways) await untilServed(gateway, customer);
  return customer;
}

/** Makes the nth call until it is served: a store of a busy machine may be silent for a moment. Returns its cost. */
export async function untilServed(
  gateway: TestGateway,
  customer: Pick<Customer, "key">,
  turn = 0,
): Promise<bigint> {
  await until("calls are served again", async () => {
    const { status, body } = await callOnce(gateway, customer, turn);
    assert.ok(status === 200 || status === 503, JSON.stringify(body));
    return status === 200;
  });
  return callMicroVnd(turn);
}

/** Fails unless the customer was charged exactly this for so many calls, and both stores agree. */
export async function assertCharged(
  gateway: TestGateway,
  { accountId }: Customer,
  { microVnd: expected, calls }: { microVnd: bigint; calls: number },
): Promise<void> {
  await noCallsInFlight(gateway);
  assert.equal(await spent(gateway, accountId, CREDIT_VND), expected);
  const records = await allUsage(gateway, accountId);
  const costs = records.map((record) => microVnd(record["cost_vnd"]));
  assert.equal(costs.filter((cost) => cost > 0n).length, calls);
  assert.equal(
    costs.reduce((sum, cost) => sum + cost, 0n),
    expected,
  );
  await assertReconciled(gateway);
}
