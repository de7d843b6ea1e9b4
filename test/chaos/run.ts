import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type Customer, createCustomer } from "../support/admin.ts";
import { microVnd } from "../support/proof.ts";
import { Random } from "../support/random.ts";
import { readBooks } from "./books.ts";
import type { Builds } from "./builds.ts";
import type { ClientCall } from "./call.ts";
import { Confirmed } from "./confirmed.ts";
import { Director } from "./director.ts";
import type { Violation } from "./evidence.ts";
import type { Fault } from "./faults/fault.ts";
import { faultsFor } from "./faults/index.ts";
import { HealthWatch } from "./health-watch.ts";
import { HoldWatch } from "./hold-watch.ts";
import { Load } from "./load.ts";
import { type Allowance, Losses } from "./losses.ts";
import { Movements } from "./movements.ts";
import { prove, type Totals } from "./proof.ts";
import { Recovery } from "./recovery.ts";
import type { Mode } from "./redis-stage.ts";
import { RedisWatch } from "./redis-state.ts";
import { buildStage, type Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly mode: Mode;
  readonly minutes: number;
  readonly seed: number;
  readonly faultsPerMinute: number;
  readonly gateways: number;
  readonly lanes: number;
  readonly appendFsync: "always" | "everysec";
  readonly faults: readonly Fault[];
  /** The longest time for a lease, a takeover and the backlog together. */
  readonly recoverySeconds: number;
  readonly say: (line: string) => void;
  /** Says when each fault begins and ends. */
  readonly sayFaults: boolean;
  /** Keeps logs, calls and deeds of a run without a violation, too. */
  readonly keepsEvidence: boolean;
  /** The two versions that the gateways run; undefined for this one alone. */
  readonly builds: Builds | undefined;
}

export interface ChaosResult {
  readonly violations: readonly Violation[];
  readonly totals: Totals;
  /** How often each fault happened. */
  readonly done: ReadonlyMap<string, number>;
  /** The highest number of each kind that a fault reached. */
  readonly peaks: ReadonlyMap<string, number>;
  readonly kills: number;
  readonly calls: readonly ClientCall[];
  readonly movements: number;
  /** Calls that `quarantine retry-all` committed after the upgrade. */
  readonly retried: number;
  /** The longest time from SIGTERM to the end of a gateway, among other faults. */
  readonly longestStopMs: number;
  readonly looksForBelowZero: number;
  /** The longest time from a start of a gateway until it was ready, among other faults. */
  readonly longestStartMs: number;
  readonly longestSilenceMs: number;
  /** The longest time for which a hold outlived its call. */
  readonly longestHoldMs: number;
  /** Time from the last harm until no money was held or uncommitted. */
  readonly recoveredAfterMs: number;
  /** Folder with logs, calls and deeds, if they are kept. */
  readonly evidence: string | undefined;
}

/** Credits. A token costs 0.036 đ, so the first covers every call, and the second covers a few. */
const RICH_VND = 1_000_000;
const POOR_VND = 20;
const RICH = 12;
const POOR = 8;
const WATCH_EVERY_MS = 250;
const SNAPSHOT_EVERY_MS = 4_000;
const PROGRESS_EVERY_MS = 5_000;
/** A movement is sent again until it gets a reply, which it must get once every server runs. */
const MOVEMENTS_MS_MAX = 120_000;

/** Runs load and harm for some minutes, then the proof. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-chaos-${options.seed}-`));
  const stage = await buildStage({ ...options, isShort: isShort(options) });
  if (stage.noDisks !== undefined) options.say(`no disk is filled: ${stage.noDisks}`);
  if (stage.noWayBack !== undefined) {
    options.say(
      `gateways are only upgraded; the older version does not start again: ${stage.noWayBack}`,
    );
  }
  const sql = postgres(stage.postgresUrl, { max: 2, types: { bigint: postgres.BigInt } });
  try {
    const result = await perform(options, stage, sql, folder);
    if (result.evidence === undefined) rmSync(folder, { recursive: true });
    return result;
  } finally {
    for (const { index, gateway } of stage.gateways) {
      // The folder is gone if it was not to be kept.
      try {
        writeFileSync(join(folder, `gateway-${index}.log`), gateway.logs);
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
  const { seed, say, minutes, mode } = options;
  const startMs = performance.now();
  const rich = await customers(stage, RICH, RICH_VND);
  const poor = await customers(stage, POOR, POOR_VND);
  const ids = (list: readonly Customer[]) => list.map((customer) => customer.accountId);
  const gateways = stage.gateways.map(({ gateway }) => gateway);
  const load = new Load({
    seed,
    lanes: options.lanes,
    rich,
    poor,
    ports: gateways.map((gateway) => gateway.port),
  });
  const movements = new Movements({ seed, rich: ids(rich), poor: ids(poor), gateways });
  const health = new HealthWatch(stage.gateways);
  const holds = new HoldWatch(load.calls);
  const watch = new RedisWatch(stage.redis, WATCH_EVERY_MS, (held) => holds.look(held, Date.now()));
  const allowances: Allowance[] = [];
  const losses = new Losses(new Confirmed(sql, load.calls, allowances), allowances);
  const onDeed = (deed: string) => {
    if (options.sayFaults) say(deed);
    appendFileSync(join(folder, "deeds.log"), `${new Date().toISOString()} ${deed}\n`);
  };
  const director = new Director({
    stage,
    load,
    movements,
    random: new Random(seed),
    losses,
    faultsPerMinute: options.faultsPerMinute,
    faults: faultsFor(options.faults, {
      mode,
      hasDisks: stage.noDisks === undefined,
      isShort: isShort(options),
      versions: versionsOf(stage),
    }),
    onDeed,
  });
  const snapshots = setInterval(
    () => void stage.snapshots?.take().catch(() => {}),
    SNAPSHOT_EVERY_MS,
  );
  const progress = setInterval(
    () => say(progressLine(startMs, load.calls, director.faults)),
    PROGRESS_EVERY_MS,
  );
  try {
    await director.run(performance.now() + minutes * 60_000);
  } finally {
    clearInterval(snapshots);
    clearInterval(progress);
  }
  onDeed("all servers run again");
  const late = delay(MOVEMENTS_MS_MAX, undefined, { ref: false });
  await Promise.race([Promise.all([load.stop(), movements.stop()]), late]);
  onDeed("the load has ended");
  say(
    "all servers run and the load has ended; waiting until all accounts are served, no money is held and every outbox is empty",
  );
  const recoveringMs = performance.now();
  const recovery = new Recovery(stage, options.recoverySeconds);
  await recovery.served(load, rich);
  if (stage.builds) await recovery.settled();
  const retried = stage.builds ? await recovery.retried() : 0;
  const redisState = await recovery.settled();
  const recoveredAfterMs = performance.now() - recoveringMs;
  watch.stop();
  health.stop();
  const evidence = {
    calls: load.calls,
    movements: movements.all,
    rich: new Set(ids(rich)),
    startMicroVnd: new Map([
      ...ids(rich).map((id) => [id, microVnd(RICH_VND)] as const),
      ...ids(poor).map((id) => [id, microVnd(POOR_VND)] as const),
    ]),
    redisState,
    belowZero: watch.belowZero,
    allowances,
  };
  const { violations: broken, totals } = prove(evidence, await readBooks(sql));
  await recovery.reconciled();
  const ends = stage.gateways.flatMap((gateway) => gateway.ends);
  const violations = [
    ...director.violations,
    ...health.violations,
    ...holds.violations,
    ...ends.map((what) => ({ rule: "no gateway ends by itself", what })),
    ...recovery.violations,
    ...broken,
  ];
  const isKept = violations.length > 0 || options.keepsEvidence;
  if (isKept) keep(folder, violations, load.calls);
  const actors = [...stage.gateways, ...stage.redis.nodes, stage.postgres, stage.simulator];
  return {
    violations,
    totals,
    done: director.done,
    peaks: director.peaks,
    longestStartMs: Math.max(...stage.gateways.map(({ longestStartMs }) => longestStartMs)),
    kills: actors.reduce((sum, { kills }) => sum + kills, 0),
    calls: load.calls,
    movements: movements.all.length,
    retried,
    longestStopMs: Math.max(...stage.gateways.map((gateway) => gateway.longestStopMs)),
    looksForBelowZero: watch.looks,
    longestSilenceMs: health.longestSilenceMs,
    longestHoldMs: holds.longestMs,
    recoveredAfterMs,
    evidence: isKept ? folder : undefined,
  };
}

function isShort({ minutes }: ChaosOptions): boolean {
  return minutes < 1;
}

function versionsOf({ builds, noWayBack }: Stage): "one" | "upgrade" | "both ways" {
  if (!builds) return "one";
  return noWayBack === undefined ? "both ways" : "upgrade";
}

async function customers(stage: Stage, count: number, creditVnd: number): Promise<Customer[]> {
  const [actor] = stage.gateways;
  if (!actor) throw new Error("chaos needs a gateway");
  const list: Customer[] = [];
  for (let n = 0; n < count; n += 1) list.push(await createCustomer(actor.gateway, { creditVnd }));
  return list;
}

function progressLine(startMs: number, calls: readonly ClientCall[], faults: number): string {
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  const whole = calls.filter((call) => call.end === "whole").length;
  return `${seconds} s: ${calls.length} calls, ${whole} whole, ${faults} faults`;
}

function keep(folder: string, violations: readonly Violation[], calls: readonly ClientCall[]) {
  writeFileSync(join(folder, "violations.json"), JSON.stringify(violations, null, 1));
  const text = calls.map((call) =>
    JSON.stringify(call, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  );
  writeFileSync(join(folder, "calls.jsonl"), `${text.join("\n")}\n`);
}
