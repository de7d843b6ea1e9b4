import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Customer, usage, wallet } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { microVnd } from "../support/proof.ts";
import type { RedisServer } from "../support/redis.ts";
import {
  type Claim,
  COMMIT_TIMEOUT_MS,
  CREDIT_VND,
  call,
  sendMovement,
} from "./failpoint-calls.ts";

/** Leases take seconds to end, and each poll costs two requests. */
const POLL_MS = 200;

/**
 * Charged once if the reply was whole, at most once otherwise; nothing held, no balance below zero,
 * no drift.
 */
export async function prove(gateway: TestGateway, claim: Claim): Promise<void> {
  const { customer, creditVnd, costVnd, isWhole, what } = claim;
  const moved = creditVnd - CREDIT_VND;
  // A client whose movement got no reply sends it again.
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while (moved !== 0 && (await sendMovement(gateway, customer, moved)).status >= 300) {
    assert.ok(performance.now() < deadline, `${what}: the movement is refused`);
    await delay(POLL_MS);
  }
  for (;;) {
    const { held, pending, available, balance } = await walletOf(gateway, customer);
    assert.ok(microVnd(available) >= 0n, `${what}: ${available} đ are available`);
    const records = await usage(gateway, customer.accountId);
    const charged = records.reduce((sum, record) => sum + microVnd(record["cost_vnd"]), 0n);
    const isCommitted = held === "0" && pending === "0" && (!isWhole || records.length === 1);
    if (isCommitted && microVnd(balance) === microVnd(creditVnd) - charged) {
      assert.ok(records.length <= 1, `${what}: ${JSON.stringify(records)}`);
      if (isWhole) assert.equal(charged, microVnd(costVnd), what);
      else assert.ok(charged <= microVnd(costVnd), `${what}: ${charged} µđ`);
      return;
    }
    const state = JSON.stringify({ held, pending, available, balance, records });
    assert.ok(performance.now() < deadline, `${what}: ${state}`);
    await delay(POLL_MS);
  }
}

/** The wallet, once the gateway has joined its buckets again. */
async function walletOf(gateway: TestGateway, { accountId }: Customer) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const parts = await wallet(gateway, accountId);
    if (parts.held !== "undefined" || performance.now() > deadline) return parts;
    await delay(POLL_MS);
  }
}

/**
 * Calls until one is served: wallets load again once every gateway that may have data has rejoined
 * or is dead.
 */
export async function untilServed(gateway: TestGateway, customer: Customer) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const done = await call(gateway, customer);
    if (done.isWhole) return done;
    assert.ok(performance.now() < deadline, "calls are still refused");
    await delay(POLL_MS);
  }
}

export async function committedIn(gateway: TestGateway, { accountId }: Customer): Promise<void> {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while ((await usage(gateway, accountId)).length === 0) {
    assert.ok(performance.now() < deadline, "the call does not reach the ledger");
    await delay(POLL_MS);
  }
}

export async function untilClaimed(redis: RedisServer): Promise<void> {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while ((await fieldsIn(redis, "*:orphans")) === 0) {
    assert.ok(performance.now() < deadline, "no gateway claims the orphaned outbox");
    await delay(POLL_MS);
  }
}

export async function assertNoHolds(redis: RedisServer): Promise<void> {
  assert.equal(await fieldsIn(redis, "*:holds"), 0);
}

/** Returns the count of fields in all hashes whose key matches a pattern. */
function fieldsIn(redis: RedisServer, pattern: string): Promise<unknown> {
  const script =
    "local n = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1])) do n = n + redis.call('HLEN', key) end return n";
  return redis.call("EVAL", script, "0", pattern);
}
