import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseVnd } from "../../core/catalogue/amount.ts";
import { arrayOf, isObject } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { type AdminTarget, admin, committedWallet } from "./admin.ts";
import type { TestGateway } from "./gateway.ts";
import { until } from "./until.ts";

/** Parses an amount of the admin API into µđ. */
export function microVnd(vnd: unknown): bigint {
  const parsed = parseVnd(String(vnd));
  if (parsed === undefined) throw new Error(`not an amount: ${vnd}`);
  return parsed;
}

/** The exit code and the output of `npm run admin -- reconcile`. */
export function runReconcile(gateway: TestGateway): Promise<{ code: number; output: string }> {
  return runAdmin(gateway, "reconcile");
}

/** The exit code and the output of `npm run admin --` and these words. */
export function runAdmin(
  gateway: TestGateway,
  ...words: readonly string[]
): Promise<{ code: number; output: string }> {
  const program = join(packageRoot, "dist", "plugins", "admin", "cli.js");
  const flags = [...words, "--json", "--url", gateway.url, "--token", gateway.adminToken];
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...flags], (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error ? 1 : 0;
      resolve({ code, output: stdout + stderr });
    });
  });
}

/** The same check as that command, without its process. */
export async function assertReconciled(gateway: AdminTarget): Promise<void> {
  const { status, body } = await admin(gateway, "GET", "/reconcile");
  assert.equal(status, 200);
  assert.ok(body["drift"] === false && body["overdue"] === 0, JSON.stringify(body));
}

/** The gateway's own count of calls in flight, without the request that reads it. */
export async function callsInFlight(gateway: Pick<TestGateway, "url">): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^tollgate_open_calls(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

/** Waits until the gateway has seen that the clients of so many unended calls have left. */
export async function callsLeft({ url }: Pick<TestGateway, "url">, count: number): Promise<void> {
  await until(`the gateway knows that ${count} clients have left`, async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return metrics.includes(`\ntollgate_left_calls ${count}\n`);
  });
}

export async function noCallsInFlight(gateway: Pick<TestGateway, "url">): Promise<void> {
  await until("no call is open", async () => (await callsInFlight(gateway)) === 0);
}

/** The total charge of a wallet that got `creditVnd` and has no call in flight. */
export async function spent(
  gateway: TestGateway,
  accountId: string,
  creditVnd: string | number,
): Promise<bigint> {
  const { balance, available } = await committedWallet(gateway, accountId);
  assert.equal(balance, available, "nothing is held");
  assert.ok(microVnd(balance) >= 0n, `the balance is ${balance}`);
  return microVnd(creditVnd) - microVnd(balance);
}

/**
 * All usage records of an account, newest first; the admin API returns at most a thousand at a
 * time.
 */
export async function allUsage(
  gateway: TestGateway,
  accountId: string,
): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  for (let before = ""; ; ) {
    const path = `/accounts/${accountId}/usage?limit=1000${before}`;
    const page = arrayOf((await admin(gateway, "GET", path)).body["list"]).filter(isObject);
    records.push(...page);
    const last = page.at(-1);
    if (!last || page.length < 1000) return records;
    before = `&before=${encodeURIComponent(`${last["at"]},${last["call_id"]}`)}`;
  }
}

/** The sum of the costs in the usage records of an account. */
export async function recordedCosts(gateway: TestGateway, accountId: string): Promise<bigint> {
  let sum = 0n;
  for (const record of await allUsage(gateway, accountId)) sum += microVnd(record["cost_vnd"]);
  return sum;
}

/** The resident memory of the gateway's process, in MB; `VmHWM` is its peak. */
export async function memoryMb(
  gateway: Pick<TestGateway, "pid">,
  field: "VmRSS" | "VmHWM",
): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
}
