import type { Machine, Timer } from "../../core/process/machine.ts";
import type { Random } from "../support/random.ts";
import type { ProcessDisk } from "./disk.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Version } from "./versions.ts";

/** 2026-01-01: the start time of all clocks. */
export const WORLD_BEGINS_MS = 1_767_225_600_000;
/** Maximum delay of a timer. */
const TIMER_JITTER_MS = 2;
/** Maximum clock reads within one turn; correct code needs fewer. */
const LOOKS_MAX = 100_000;

/** A loop of promises reads the clock again and again, so that no timer and no socket is served. */
export class LoopStopped extends Error {
  constructor(name: string) {
    super(`the event loop of ${name} stops: its promises wait for nothing`);
    this.name = "LoopStopped";
  }
}

interface ProcessOptions {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly onStopped: (error: LoopStopped) => void;
  readonly version?: Version;
}

/**
 * One process of a gateway: a `Machine` that can be killed and frozen. A kill drops all pending callbacks; a freeze
 * delays them.
 */
export class SimulatedProcess implements Machine {
  readonly name: string;
  readonly version: Version;
  /** The ids that it has made. */
  readonly ids = new Set<string>();
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  private readonly onStopped: (error: LoopStopped) => void;
  private attached: ProcessDisk | undefined;
  private diedMs = Number.POSITIVE_INFINITY;
  private isFrozen = false;
  private frozenFromMs = Number.NEGATIVE_INFINITY;
  private thawedMs = Number.NEGATIVE_INFINITY;
  private readonly putOff: (() => void)[] = [];
  private readonly mourners: (() => void)[] = [];
  private looks = 0;
  private looksAtTurn = 0;
  /** Difference between its wall clock and the world's. */
  clockErrorMs = 0;

  constructor({ name, scheduler, random, onStopped, version = "this" }: ProcessOptions) {
    this.name = name;
    this.version = version;
    this.scheduler = scheduler;
    this.random = random;
    this.onStopped = onStopped;
  }

  get alive(): boolean {
    return this.diedMs === Number.POSITIVE_INFINITY;
  }

  /** When it died; infinity while it lives. */
  get diedAtMs(): number {
    return this.diedMs;
  }

  get frozen(): boolean {
    return this.isFrozen;
  }

  get disk(): ProcessDisk {
    if (this.attached === undefined) throw new Error(`${this.name} has no disk`);
    return this.attached;
  }

  attach(disk: ProcessDisk): void {
    this.attached = disk;
  }

  now(): number {
    this.look();
    return Math.floor(WORLD_BEGINS_MS + this.scheduler.nowMs + this.clockErrorMs);
  }

  monotonic(): number {
    this.look();
    return this.scheduler.nowMs;
  }

  uuid(): string {
    const digits = this.random.bytes(16).toString("hex");
    const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16)];
    const id = [...parts, digits.slice(16, 20), digits.slice(20)].join("-");
    this.ids.add(id);
    return id;
  }

  after(ms: number, work: () => void): Timer {
    const jitterMs = this.random.fraction() * TIMER_JITTER_MS;
    const scheduled = this.scheduler.after(Math.max(1, ms) + jitterMs, `${this.name} timer`, () =>
      this.serve(() => {
        if (!isClosed) work();
      }),
    );
    let isClosed = false;
    return {
      close() {
        isClosed = true;
        scheduled.cancel();
      },
      unref() {},
    };
  }

  every(ms: number, work: () => void): Timer {
    let timer = this.after(ms, again);
    const next = () => {
      timer = this.after(ms, again);
    };
    function again() {
      next();
      work();
    }
    return {
      close: () => timer.close(),
      unref() {},
    };
  }

  /** Runs `work` after `ms`, for an event from outside: a packet, the end of a write. */
  receive(ms: number, label: string, work: () => void): void {
    this.scheduler.after(ms, `${this.name} ${label}`, () => this.serve(work));
  }

  kill(): void {
    if (!this.alive) return;
    this.diedMs = this.scheduler.nowMs;
    this.putOff.length = 0;
    for (const hear of this.mourners.splice(0)) hear();
  }

  /** Calls `hear` when the kernel closes the connections of this process. */
  onDeath(hear: () => void): void {
    if (!this.alive) hear();
    else this.mourners.push(hear);
  }

  freeze(): void {
    if (this.isFrozen) return;
    this.isFrozen = true;
    this.frozenFromMs = this.scheduler.nowMs;
  }

  /** Returns true if the process ran for `ms` after `atMs`, and was not frozen since. */
  ranFor(ms: number, atMs: number): boolean {
    return !this.isFrozen && this.frozenFromMs < atMs && this.diedMs >= atMs + ms;
  }

  /** Returns true if the process lives, and ran at every moment since `atMs`. */
  hasRunSince(atMs: number): boolean {
    return this.alive && !this.isFrozen && this.thawedMs <= atMs;
  }

  /** Returns `atMs`, or the end of the last freeze if the process was frozen then: infinity if it never thawed. */
  runsFrom(atMs: number): number {
    if (this.frozenFromMs > atMs) return atMs;
    return this.isFrozen ? Number.POSITIVE_INFINITY : Math.max(atMs, this.thawedMs);
  }

  thaw(): void {
    if (!this.alive) return;
    this.isFrozen = false;
    this.thawedMs = this.scheduler.nowMs;
    for (const work of this.putOff.splice(0)) {
      this.scheduler.after(0, `${this.name} thawed`, () => this.serve(work));
    }
  }

  private serve(work: () => void): void {
    if (!this.alive) return;
    if (this.isFrozen) this.putOff.push(work);
    else work();
  }

  private look(): void {
    if (!this.alive) throw new Error(`${this.name} is dead`);
    if (this.looksAtTurn !== this.scheduler.turns) {
      this.looksAtTurn = this.scheduler.turns;
      this.looks = 0;
    }
    this.looks += 1;
    if (this.looks < LOOKS_MAX) return;
    const stopped = new LoopStopped(this.name);
    this.kill();
    this.onStopped(stopped);
    throw stopped;
  }
}
