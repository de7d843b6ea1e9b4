import type { Log } from "../process/log.ts";
import { type Machine, systemMachine } from "../process/machine.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Backlog } from "./backlog.ts";
import { LIFETIMES } from "./lifetimes.ts";

/** The fields of a call that decide if it waits. */
interface PacedCall {
  readonly endpoint: { readonly serves: readonly unknown[] };
  readonly key: { readonly accountId: string } | undefined;
  readonly gone: boolean;
}

interface WaitingCall {
  readonly call: PacedCall;
  readonly sinceMs: number;
  resolve(refusal: Refusal | undefined): void;
}

/** The waiting calls of an account, oldest first. */
interface AccountQueue {
  readonly accountId: string;
  readonly calls: WaitingCall[];
}

interface PaceOptions {
  readonly backlog: Backlog;
  readonly log: Log;
  readonly machine?: Machine;
}

/** How new calls are slowed down to the rate at which the ledger commits. */
export interface PaceStatus {
  /** Calls that wait now, before their hold. */
  readonly waitingCalls: number;
  /** Milliseconds that all calls together have waited, since the start of this process. */
  readonly waitedMs: number;
}

/**
 * Slows new calls down to the rate at which the ledger commits, before the outbox is full and calls are refused. The
 * last step of admission: a waiting call holds no money yet, so nothing that has begun ever waits. Accounts take turns,
 * so that one with many calls does not delay the others.
 */
export class Pace implements PaceStatus {
  readonly name = "core: pace";
  private readonly backlog: Backlog;
  private readonly machine: Machine;
  private readonly log: ThrottledLog;
  /**
   * The accounts whose calls wait. The first one is next; after its turn it moves to the end.
   *
   * Calls are in arrays, not in a Set: a Set that grows leaves old tables in memory, which still point at calls. Each
   * table also points at the next one, so every fourth call stayed alive until the next full collection.
   */
  private turns: AccountQueue[] = [];
  private readonly byAccount = new Map<string, AccountQueue>();
  /** Calls that may go on; the fraction is kept from tick to tick. */
  private due = 0;
  private tickedMs = 0;
  private stopped = false;
  private waiting = 0;
  /** The waits, added up, of the calls that have gone on, in milliseconds. */
  private waitedBeforeMs = 0;
  private readonly onTick = () => this.tick();

  constructor({ backlog, log, machine = systemMachine }: PaceOptions) {
    this.backlog = backlog;
    this.machine = machine;
    this.log = new ThrottledLog(log, { nowMs: () => machine.monotonic() });
  }

  get waitingCalls(): number {
    return this.waiting;
  }

  get waitedMs(): number {
    const nowMs = this.machine.monotonic();
    let ms = this.waitedBeforeMs;
    for (const { calls } of this.turns) for (const { sinceMs } of calls) ms += nowMs - sinceMs;
    return ms;
  }

  /** Returns the refusal of every new call while the outbox is full; undefined if it is not. */
  refusal(): Refusal | undefined {
    if (!this.backlog.isFull) return undefined;
    const seconds = this.backlog.retryAfterSeconds;
    this.log.warn(
      { uncommitted: this.backlog.calls, retryAfterSeconds: seconds },
      "too many posted calls wait for the ledger; new calls get 503",
    );
    return behind(seconds);
  }

  admit(call: PacedCall): Refusal | undefined | Promise<Refusal | undefined> {
    const delayMs = this.backlog.delayMs;
    if (this.stopped || (delayMs === 0 && this.waiting === 0)) return undefined;
    // Routes that serve no model cost nothing.
    if (call.endpoint.serves.length === 0) return undefined;
    const refusal = this.refusal();
    if (refusal !== undefined) return refusal;
    if (delayMs >= LIFETIMES.paceLoggedMsMin) this.warn(delayMs);
    return this.wait(call);
  }

  /** Lets all waiting calls go on, and all later ones: the gateway stops. */
  stop(): Promise<void> {
    this.stopped = true;
    while (this.waiting > 0) this.letNextGo();
    return Promise.resolve();
  }

  private wait(call: PacedCall): Promise<Refusal | undefined> {
    const sinceMs = this.machine.monotonic();
    if (this.waiting === 0) {
      this.tickedMs = sinceMs;
      this.due = 0;
      this.machine.after(LIFETIMES.paceTickMs, this.onTick);
    }
    return new Promise((resolve) => {
      this.queueOf(call.key?.accountId ?? "").calls.push({ call, sinceMs, resolve });
      this.waiting++;
    });
  }

  private queueOf(accountId: string): AccountQueue {
    let queue = this.byAccount.get(accountId);
    if (queue === undefined) {
      queue = { accountId, calls: [] };
      this.byAccount.set(accountId, queue);
      this.turns.push(queue);
    }
    return queue;
  }

  /** Lets some calls go on, so many that each waits for the delay on average. */
  private tick(): void {
    const nowMs = this.machine.monotonic();
    this.refuseOverdue(nowMs);
    const { delayMs } = this.backlog;
    const elapsedMs = nowMs - this.tickedMs;
    this.tickedMs = nowMs;
    // If the delay is 0, or after a stall, all of them go on.
    const share = elapsedMs < delayMs ? elapsedMs / delayMs : 1;
    this.due += this.waiting * share;
    while (this.due >= 1 && this.waiting > 0) if (this.letNextGo()) this.due -= 1;
    if (this.waiting > 0) this.machine.after(LIFETIMES.paceTickMs, this.onTick);
  }

  /** Lets one call of the next account go on. Returns false if its client has left. */
  private letNextGo(): boolean {
    const queue = this.turns.shift();
    if (queue === undefined) return false;
    const waiting = this.takeFrom(queue);
    if (queue.calls.length > 0) this.turns.push(queue);
    waiting?.resolve(this.stopped ? undefined : this.refusal());
    return waiting?.call.gone === false;
  }

  private refuseOverdue(nowMs: number): void {
    const isOverdue = ({ calls: [first] }: AccountQueue) =>
      first !== undefined && nowMs - first.sinceMs >= LIFETIMES.paceWaitMsMax;
    if (!this.turns.some(isOverdue)) return;
    for (const queue of this.turns) {
      while (isOverdue(queue)) {
        this.takeFrom(queue)?.resolve(behind(this.backlog.retryAfterSeconds));
      }
    }
    this.turns = this.turns.filter(({ calls }) => calls.length > 0);
  }

  /** Removes the oldest call of an account. */
  private takeFrom({ accountId, calls }: AccountQueue): WaitingCall | undefined {
    const first = calls.shift();
    if (calls.length === 0) this.byAccount.delete(accountId);
    if (first === undefined) return undefined;
    this.waiting--;
    this.waitedBeforeMs += this.machine.monotonic() - first.sinceMs;
    return first;
  }

  private warn(delayMs: number): void {
    this.log.warn(
      { uncommitted: this.backlog.calls, delayMs: Math.round(delayMs) },
      "the ledger is slower than the calls; new calls wait",
    );
  }
}

function behind(seconds: number): Refusal {
  return refuse.unavailable("The gateway has too many calls to charge; try again later.", {
    headers: ["retry-after", String(seconds)],
  });
}
