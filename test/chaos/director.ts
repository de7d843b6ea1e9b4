import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../support/random.ts";
import { startAgain, type Victim } from "./actors.ts";
import { Deck } from "./deck.ts";
import type { Violation } from "./evidence.ts";
import type { Fault, Ground, Strike } from "./faults/fault.ts";
import type { Load } from "./load.ts";
import type { Losses } from "./losses.ts";
import type { Movements } from "./movements.ts";
import type { Stage } from "./stage.ts";

/** A start under load, after leases have ended, and the retries of a start that came too early. */
const HEAL_TIMEOUT_MS = 120_000;

export interface DirectorOptions {
  readonly stage: Stage;
  readonly load: Load;
  readonly movements: Movements;
  readonly random: Random;
  readonly losses: Losses;
  readonly faultsPerMinute: number;
  /** The faults to choose from. */
  readonly faults: readonly Fault[];
  /** Called when a fault begins, and when it is over. */
  readonly onDeed: (deed: string) => void;
}

/** Does harm at random intervals, with several faults at once. */
export class Director {
  /** How often each fault happened. */
  readonly done = new Map<string, number>();
  /** The highest number of each kind that a fault reached. */
  readonly peaks = new Map<string, number>();
  readonly violations: Violation[] = [];
  private readonly busy = new Set<Victim>();
  private readonly under = new Set<Promise<void>>();
  private readonly deck: Deck<Fault>;
  private readonly ground: Ground;
  private fromMs = 0;
  private untilMs = 0;

  constructor(private readonly options: DirectorOptions) {
    const { stage, load, movements, random, faults } = options;
    this.deck = new Deck(random, faults);
    this.ground = {
      stage,
      load,
      movements,
      random,
      isFree: (victim) => !this.busy.has(victim),
      progress: () => (performance.now() - this.fromMs) / (this.untilMs - this.fromMs),
      isCommitted: (atMs) => options.losses.isCommitted(atMs),
      peak: (what, count) => this.peaks.set(what, Math.max(this.peaks.get(what) ?? 0, count)),
      violation: (rule, what) => this.violations.push({ rule, what }),
    };
  }

  get faults(): number {
    return [...this.done.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Runs until `untilMs`, then waits until every fault is healed. */
  async run(untilMs: number): Promise<void> {
    const { random, faultsPerMinute } = this.options;
    this.fromMs = performance.now();
    this.untilMs = untilMs;
    while (performance.now() < untilMs) {
      await delay((60_000 / faultsPerMinute) * 2 * random.fraction());
      const work = this.deal();
      this.under.add(work);
      void work.finally(() => this.under.delete(work));
    }
    this.options.losses.stop();
    const limit = delay(HEAL_TIMEOUT_MS, "late" as const, { ref: false });
    if ((await Promise.race([this.heal(), limit])) === "late") {
      const names = [...this.busy].map(({ name }) => name).join(", ");
      this.violations.push({ rule: "every server starts again", what: `not so: ${names}` });
    }
  }

  private async heal(): Promise<void> {
    await Promise.all(this.under);
    for (const actor of this.options.stage.gateways) {
      if (actor.version === "older") {
        await actor.stop();
        actor.run("newer");
        this.tell(`${actor.name}: upgraded at the end`);
      }
      if (!actor.isUp) await startAgain(actor);
    }
  }

  private async deal(): Promise<void> {
    const fault = this.deck.draw();
    if (!fault) return;
    try {
      if (await this.strike(fault)) this.done.set(fault.name, (this.done.get(fault.name) ?? 0) + 1);
      // Its victim is already harmed; another fault comes first.
      else this.deck.putBack(fault);
    } catch (error) {
      this.tell(`${fault.name}: failed: ${error instanceof Error ? error.message : error}`);
    }
  }

  private async strike(fault: Fault): Promise<boolean> {
    const strike = await fault.aim(this.ground);
    if (!strike?.victims.every((victim) => !this.busy.has(victim))) return false;
    for (const victim of strike.victims) this.busy.add(victim);
    try {
      const { losses } = this.options;
      const release = fault.loses ? await losses.permit(fault.loses, gatewayOf(strike)) : () => {};
      if (!release) return false;
      await this.perform(fault, strike).finally(release);
      return true;
    } finally {
      for (const victim of strike.victims) this.busy.delete(victim);
    }
  }

  private async perform(fault: Fault, strike: Strike): Promise<void> {
    this.tell(`${fault.name}: begins`);
    try {
      await strike.begin();
      this.tell(`${fault.name}: ${strike.describe()}`);
      await delay(strike.lastsMs);
    } finally {
      await strike.heal();
      this.tell(`${fault.name}: healed, ${strike.describe()}`);
    }
  }

  private tell(what: string): void {
    this.options.onDeed(what);
  }
}

/** The gateway among the victims of a fault, by its index. */
function gatewayOf({ victims }: Strike): number {
  for (const victim of victims) if ("index" in victim) return victim.index;
  return -1;
}
