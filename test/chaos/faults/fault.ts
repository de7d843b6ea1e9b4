import type { Random } from "../../support/random.ts";
import type { GatewayActor, Victim } from "../actors.ts";
import type { Load } from "../load.ts";
import type { Loss } from "../losses.ts";
import type { Movements } from "../movements.ts";
import type { Mode } from "../redis-stage.ts";
import type { Stage } from "../stage.ts";

/** One kind of harm. */
export interface Fault {
  readonly name: string;
  /** How often it is in the deck. */
  readonly weight: number;
  /** The hold stores that it fits. */
  readonly modes: readonly Mode[];
  /** It takes 10 s or more, which would fill a short run. */
  readonly isLong?: true;
  readonly loses?: Loss;
  /** Chooses the victims. Returns undefined if they are not free, or not as the fault needs them. */
  aim(ground: Ground): Strike | undefined | Promise<Strike | undefined>;
}

/** One time that a fault happens. */
export interface Strike {
  readonly victims: readonly Victim[];
  describe(): string;
  begin(): Promise<void>;
  /** Time from the end of `begin` to `heal`. */
  readonly lastsMs: number;
  /** Ends the harm, also after a `begin` that failed. */
  heal(): Promise<void>;
}

/** Everything that a fault may harm. */
export interface Ground {
  readonly stage: Stage;
  readonly load: Load;
  readonly movements: Movements;
  readonly random: Random;
  /** True if no other fault has it. */
  isFree(victim: Victim): boolean;
  /** How much of the time for faults is over: 0 to 1. */
  progress(): number;
  /** Waits until the ledger has every whole reply that was posted before. False if that takes too long. */
  isCommitted(atMs: number): Promise<boolean>;
  /** Reports a number, of which the report of the run shows the highest. */
  peak(what: string, count: number): void;
  /** Reports a violation by the system under test. */
  violation(rule: string, what: string): void;
}

export const EVERYWHERE: readonly Mode[] = ["single", "cluster"];

/** One of them that is free and runs. */
export function oneOf<T extends Victim>(ground: Ground, all: readonly T[]): T | undefined {
  const free = all.filter((one) => ground.isFree(one) && (!("isUp" in one) || one.isUp));
  return free.length === 0 ? undefined : ground.random.pick(free);
}

/** Posts that the gateway has not committed; undefined if it does not say. */
export async function uncommitted({ gateway }: GatewayActor): Promise<number | undefined> {
  try {
    const reply = await fetch(`${gateway.url}/metrics`, { signal: AbortSignal.timeout(2_000) });
    const text = await reply.text();
    const [, count] = /^tollgate_outbox_backlog(?:\{[^}]*\})? (\d+)/m.exec(text) ?? [];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}
