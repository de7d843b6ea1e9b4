import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type Customer, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { microVnd, runReconcile } from "../support/proof.ts";
import { Random } from "../support/random.ts";
import type { ClientCall } from "./call.ts";
import { Confirmed } from "./confirmed.ts";
import { type Deed, Director } from "./director.ts";
import { Load } from "./load.ts";
import { Movements } from "./movements.ts";
import { prove, type Totals, type Violation } from "./proof.ts";
import { BelowZeroWatch, type RedisState, readRedisState } from "./redis-state.ts";
import { buildStage, type Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly killsPerMinute: number;
  readonly gateways: number;
  readonly lanes: number;
  readonly appendFsync: "always" | "everysec";
  readonly deeds: readonly Deed[];
  /** The longest time for a lease, a takeover and the backlog together. */
  readonly recoverySeconds: number;
  readonly say: (line: string) => void;
}

export interface ChaosResult {
  readonly violations: readonly Violation[];
  readonly totals: Totals;
  readonly done: ReadonlyMap<Deed, number>;
  readonly kills: number;
  readonly calls: readonly ClientCall[];
  readonly movements: number;
  readonly looksForBelowZero: number;
  /** Time from the last harm until no money was held or uncommitted. */
  readonly recoveredAfterMs: number;
  /** Folder with logs, calls and deeds; undefined without a violation. */
  readonly evidence: string | undefined;
}

/** Credits. A token costs 0.036 đ, so the first covers every call, and the second covers a few. */
const RICH_VND = 1_000_000;
const POOR_VND = 20;
const RICH = 12;
const POOR = 8;
const BELOW_ZERO_EVERY_MS = 250;
const SNAPSHOT_EVERY_MS = 4_000;
const PROGRESS_EVERY_MS = 5_000;
/** It freezes for 11 s or more, which would fill a short run. */
const LONGEST_DEED: Deed = "freeze gateway past its lease";
const LONGEST_DEED_FROM_MINUTES = 1;

/** Runs load and harm for some minutes, then the proof. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-chaos-${options.seed}-`));
  const stage = await buildStage(options);
  const sql = postgres(stage.postgresUrl, { max: 2, types: { bigint: postgres.BigInt } });
  try {
    const result = await perform(options, stage, sql, folder);
    if (result.violations.length === 0) rmSync(folder, { recursive: true });
    return result;
  } finally {
    for (const [at, gateway] of stage.gateways.entries()) {
      // The folder is gone if there was no violation.
      try {
        writeFileSync(join(folder, `gateway-${at}.log`), gateway.logs);
      } catch {
        break;
      }
    }
    await sql.end({ timeout: 1 });
    await stage.close();
  }
}

async function perform(
  options: ChaosOptions,
  stage: Stage,
  sql: postgres.Sql,
  folder: string,
): Promise<ChaosResult> {
  const { seed, say } = options;
  const startMs = performance.now();
  const rich = await customers(stage, RICH, RICH_VND);
  const poor = await customers(stage, POOR, POOR_VND);
  const ids = (list: readonly Customer[]) => list.map((customer) => customer.accountId);
  const load = new Load({
    seed,
    lanes: options.lanes,
    customers: [...rich, ...poor],
    ports: stage.gateways.map((gateway) => gateway.port),
  });
  const movements = new Movements({
    seed,
    rich: ids(rich),
    poor: ids(poor),
    gateways: stage.gateways,
  });
  const watch = new BelowZeroWatch(stage.redis, BELOW_ZERO_EVERY_MS);
  const onDeed = (deed: string) => {
    appendFileSync(join(folder, "deeds.log"), `${new Date().toISOString()} ${deed}\n`);
  };
  const director = new Director({
    stage,
    random: new Random(seed),
    confirmed: new Confirmed(sql, load.calls),
    killsPerMinute: options.killsPerMinute,
    deeds: options.deeds.filter(
      (deed) => deed !== LONGEST_DEED || options.minutes >= LONGEST_DEED_FROM_MINUTES,
    ),
    onDeed,
  });
  const snapshots = setInterval(
    () => void stage.snapshots.take().catch(() => {}),
    SNAPSHOT_EVERY_MS,
  );
  const progress = setInterval(
    () => say(progressLine(startMs, load.calls, director.kills)),
    PROGRESS_EVERY_MS,
  );
  try {
    await director.run(performance.now() + options.minutes * 60_000);
  } finally {
    clearInterval(snapshots);
    clearInterval(progress);
    watch.stop();
  }
  onDeed("all servers run again");
  await Promise.all([load.stop(), movements.stop()]);
  onDeed("the load has ended");
  say(
    "all servers run and the load has ended; waiting until no money is held and every outbox is empty",
  );
  const recoveringMs = performance.now();
  const redisState = await recovered(stage, sql, options.recoverySeconds);
  const recoveredAfterMs = performance.now() - recoveringMs;
  const startMicroVnd = new Map([
    ...ids(rich).map((id) => [id, microVnd(RICH_VND)] as const),
    ...ids(poor).map((id) => [id, microVnd(POOR_VND)] as const),
  ]);
  const evidence = {
    calls: load.calls,
    movements: movements.all,
    rich: new Set(ids(rich)),
    startMicroVnd,
    redisState,
    belowZero: watch.found,
  };
  const { violations, totals } = await prove(sql, evidence);
  for (const [at, gateway] of stage.gateways.entries()) {
    const { code, output } = await reconciled(gateway, options.recoverySeconds);
    if (code !== 0) violations.push({ rule: "reconcile shows no drift", what: `${at}: ${output}` });
  }
  if (violations.length > 0) keep(folder, violations, load.calls);
  return {
    violations,
    totals,
    done: director.done,
    kills: director.kills,
    calls: load.calls,
    movements: movements.all.length,
    looksForBelowZero: watch.looks,
    recoveredAfterMs,
    evidence: violations.length > 0 ? folder : undefined,
  };
}

/** The result of `reconcile`, once the gateway has joined its buckets again. */
async function reconciled(
  gateway: TestGateway,
  limitS: number,
): Promise<{ code: number; output: string }> {
  const deadline = performance.now() + limitS * 1_000;
  for (;;) {
    const result = await runReconcile(gateway);
    const isAnswer = result.code === 0 || result.output.includes("drift");
    if (isAnswer || performance.now() > deadline) return result;
  }
}

async function customers(stage: Stage, count: number, creditVnd: number): Promise<Customer[]> {
  const [gateway] = stage.gateways;
  if (!gateway) throw new Error("chaos needs a gateway");
  const list: Customer[] = [];
  for (let n = 0; n < count; n += 1) list.push(await createCustomer(gateway, { creditVnd }));
  return list;
}

/**
 * Waits until no money is held and every outbox is empty. On timeout it returns the state, for the
 * proof to report.
 */
async function recovered(stage: Stage, sql: postgres.Sql, limitS: number): Promise<RedisState> {
  const deadline = performance.now() + limitS * 1_000;
  for (;;) {
    const redisState = await readRedisState(stage.redis);
    if (
      redisState.holds.length === 0 &&
      redisState.outboxEntries === 0 &&
      (await backlog(stage)) === 0
    ) {
      return readRedisState(stage.redis);
    }
    if (performance.now() > deadline) return redisState;
    await delay(100);
    await sql`select 1`;
  }
}

/** Posts in the gateways' memory and spools. */
async function backlog(stage: Stage): Promise<number> {
  let sum = 0;
  for (const { url } of stage.gateways) {
    const text = await (await fetch(`${url}/metrics`)).text();
    sum += Number(/^tollgate_outbox_backlog(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
  }
  return sum;
}

function progressLine(startMs: number, calls: readonly ClientCall[], kills: number): string {
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  const whole = calls.filter((call) => call.end === "whole").length;
  return `${seconds} s: ${calls.length} calls, ${whole} whole, ${kills} kills`;
}

function keep(folder: string, violations: readonly Violation[], calls: readonly ClientCall[]) {
  writeFileSync(join(folder, "violations.json"), JSON.stringify(violations, null, 1));
  const text = calls.map((call) =>
    JSON.stringify(call, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  );
  writeFileSync(join(folder, "calls.jsonl"), `${text.join("\n")}\n`);
}
