import { type Machine, systemMachine } from "../process/machine.ts";
import type { HoldStore } from "./hold-store.ts";
import { LIFETIMES } from "./lifetimes.ts";

/** Share of the outbox that a busy gateway normally uses: new calls do not wait because of it. */
const NORMAL_SHARE = 0.02;
const RETRY_AFTER_S_MAX = 30;
/** Weight of everything before the last batch in the commit rate: about the last ten batches count. */
const RATE_DECAY = 0.9;

interface BacklogOptions {
  readonly holdStore: Pick<HoldStore, "uncommittedCalls">;
  /** The hold store refuses holds at this many uncommitted calls. */
  readonly entriesMax: number;
  readonly machine?: Machine;
}

/** The posted calls that wait for the ledger: how many, how long a new call has to wait for them, when they will be gone. */
export class Backlog {
  private readonly holdStore: BacklogOptions["holdStore"];
  private readonly entriesMax: number;
  private readonly normalEntries: number;
  private readonly machine: Machine;
  /** Calls committed lately, and the time that they took. Both decay. */
  private committedCalls = 0;
  private committedMs = 0;
  private committedAtMs: number;

  constructor({ holdStore, entriesMax, machine = systemMachine }: BacklogOptions) {
    this.holdStore = holdStore;
    this.entriesMax = entriesMax;
    this.normalEntries = entriesMax * NORMAL_SHARE;
    this.machine = machine;
    this.committedAtMs = machine.monotonic();
  }

  get calls(): number {
    return this.holdStore.uncommittedCalls();
  }

  get isFull(): boolean {
    return this.calls >= this.entriesMax;
  }

  /**
   * How long a new call should wait, ms. 0 in normal operation, then the square of the backlog: clients that wait for
   * their replies slow down to the rate of the ledger, and an outage of the ledger delays calls little for a long time.
   */
  get delayMs(): number {
    const excess = Math.max(0, this.calls - this.normalEntries);
    const share = Math.min(1, excess / (this.entriesMax - this.normalEntries));
    return LIFETIMES.paceDelayMsMax * share * share;
  }

  /** Seconds until the ledger has the whole backlog, at the rate of the last commits: 1 to 30. */
  get retryAfterSeconds(): number {
    const ms = this.committedMs + this.machine.monotonic() - this.committedAtMs;
    const seconds = (this.calls * ms) / Math.max(1, this.committedCalls) / 1_000;
    return Math.min(RETRY_AFTER_S_MAX, Math.max(1, Math.round(seconds)));
  }

  /** The committer has committed a batch. The time since the last one counts, also if commits failed in it. */
  committed(calls: number): void {
    const nowMs = this.machine.monotonic();
    this.committedCalls = this.committedCalls * RATE_DECAY + calls;
    this.committedMs = this.committedMs * RATE_DECAY + nowMs - this.committedAtMs;
    this.committedAtMs = nowMs;
  }
}
