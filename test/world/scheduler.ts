import type { Random } from "../support/random.ts";

/** All times are multiples of this, so that some callbacks fall on the same instant. */
const QUANTUM_MS = 0.25;
/** Maximum turns at one instant: a loop of waits of 0 ms would never let time pass. */
const TURNS_AT_ONCE_MAX = 20_000;

interface Due {
  readonly atMs: number;
  readonly sequence: number;
  readonly label: string;
  readonly work: () => void;
  isCancelled: boolean;
}

export interface Scheduled {
  cancel(): void;
}

/** Callbacks run endlessly at one instant of simulated time. */
export class TimeStandsStill extends Error {
  constructor(label: string) {
    super(
      `time stands still: ${TURNS_AT_ONCE_MAX} turns at one instant, the last of them "${label}"`,
    );
    this.name = "TimeStandsStill";
  }
}

/**
 * The only source of time and order in a simulated world: a queue of callbacks by (time, sequence). One callback is
 * one turn of the event loop. Two runs with the same hash of all turns were the same.
 */
export class Scheduler {
  private readonly heap: Due[] = [];
  private readonly onTrace: ((line: string) => void) | undefined;
  private currentMs = 0;
  private sequence = 0;
  private turnsAtOnce = 0;
  private count = 0;
  private low = 0x811c9dc5;
  private high = 0x9747b28c;

  constructor(
    readonly random: Random,
    onTrace?: (line: string) => void,
  ) {
    this.onTrace = onTrace;
  }

  get nowMs(): number {
    return this.currentMs;
  }

  /** Number of turns so far. */
  get turns(): number {
    return this.count;
  }

  /** Hash of the trace so far. */
  get hash(): string {
    return [this.high, this.low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }

  after(ms: number, label: string, work: () => void): Scheduled {
    const atMs = this.currentMs + Math.max(0, Math.ceil(ms / QUANTUM_MS) * QUANTUM_MS);
    this.sequence += 1;
    const due: Due = { atMs, sequence: this.sequence, label, work, isCancelled: false };
    push(this.heap, due);
    return {
      cancel() {
        due.isCancelled = true;
      },
    };
  }

  /** Adds a fact to the trace, and so to the hash. */
  trace(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      this.low = Math.imul(this.low ^ code, 0x01000193);
      this.high = Math.imul(this.high ^ code, 0x5bd1e995) ^ (this.high >>> 15);
    }
    this.onTrace?.(`${this.currentMs.toFixed(2).padStart(10)} ${text}`);
  }

  /**
   * Runs turns until `isOver`. Each turn is a `setImmediate`, so promises settle between two turns, as between
   * callbacks of a real event loop. Turns of one instant are queued together, like sockets that are ready at the same
   * time.
   */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let hasFailed = false;
      const fail = (error: unknown) => {
        hasFailed = true;
        reject(error);
      };
      const turn = () => {
        if (hasFailed) return;
        try {
          if (isOver() || this.heap.length === 0) return resolve();
          const now = this.takeInstant();
          for (const due of now) setImmediate(() => guarded(due));
          setImmediate(turn);
        } catch (error) {
          fail(error);
        }
      };
      const guarded = (due: Due) => {
        if (due.isCancelled || hasFailed) return;
        try {
          this.trace(`${due.atMs} ${due.label}`);
          due.work();
        } catch (error) {
          fail(error);
        }
      };
      turn();
    });
  }

  /** Returns all callbacks of the earliest instant. */
  private takeInstant(): Due[] {
    const found: Due[] = [];
    for (;;) {
      const first = this.heap[0];
      if (first === undefined) return found;
      if (first.isCancelled) {
        pop(this.heap);
        continue;
      }
      if (found.length > 0 && first.atMs !== this.currentMs) return found;
      this.turnsAtOnce = first.atMs === this.currentMs ? this.turnsAtOnce + 1 : 0;
      if (this.turnsAtOnce > TURNS_AT_ONCE_MAX) throw new TimeStandsStill(first.label);
      this.currentMs = first.atMs;
      this.count += 1;
      found.push(first);
      pop(this.heap);
    }
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.sequence < other.sequence);
}

function push(heap: Due[], due: Due): void {
  let at = heap.length;
  heap.push(due);
  while (at > 0) {
    const parentAt = (at - 1) >> 1;
    const parent = heap[parentAt];
    if (parent === undefined || !isBefore(due, parent)) break;
    heap[at] = parent;
    at = parentAt;
  }
  heap[at] = due;
}

function pop(heap: Due[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let childAt = 2 * at + 1;
    const left = heap[childAt];
    if (left === undefined) break;
    const right = heap[childAt + 1];
    let child = left;
    if (right !== undefined && isBefore(right, left)) {
      child = right;
      childAt += 1;
    }
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = childAt;
  }
  heap[at] = last;
}
