import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../support/random.ts";
import type { Confirmed } from "./confirmed.ts";
import { type Actor, type Link, type Stage, startAgain } from "./stage.ts";

/** The deeds, and how often each is in the deck, which is shuffled again when it is empty. */
const DECK = {
  "kill gateway": 5,
  "kill redis": 3,
  "kill postgres": 2,
  "kill simulator": 2,
  "freeze gateway": 2,
  "freeze gateway past its lease": 1,
  "freeze redis": 2,
  "freeze postgres": 1,
  "freeze simulator": 1,
  "cut a connection": 3,
  "slow a connection": 2,
  "wipe redis": 1,
  "restore an old redis": 1,
} as const;

export type Deed = keyof typeof DECK;

export const DEEDS = Object.keys(DECK) as readonly Deed[];

const KILLS_IN_DECK = 12;
const CARDS = Object.values(DECK).reduce((sum, count) => sum + count, 0);
/** Leases end after 10 s of silence. */
const PAST_LEASE_MS = 11_000;
const CONFIRM_TIMEOUT_MS = 20_000;
const HEAL_TIMEOUT_MS = 120_000;

export interface DirectorOptions {
  readonly stage: Stage;
  readonly random: Random;
  readonly confirmed: Confirmed;
  readonly killsPerMinute: number;
  /** The deeds to choose from. */
  readonly deeds: readonly Deed[];
  /** Called for every deed when it happens. */
  readonly onDeed: (deed: string) => void;
}

/**
 * Does harm at random intervals, with several deeds at once. It avoids the two double failures that
 * may lose charges: Redis never loses posts of a dead gateway, and a gateway whose posts Redis has
 * just lost is never killed.
 */
export class Director {
  readonly done = new Map<Deed, number>();
  kills = 0;
  private readonly options: DirectorOptions;
  private readonly busy = new Set<Actor | Link>();
  private readonly under: Set<Promise<void>> = new Set();
  private deck: Deed[] = [];
  private stopping = false;
  /**
   * When a gateway last lost its memory. Until they are in the ledger, its posts are only in Redis.
   */
  private gatewayLostAtMs = 0;
  /** When Redis last lost data. Posts from before are only in the gateways' memory. */
  private redisLostAtMs = 0;
  private isForgetting = false;

  constructor(options: DirectorOptions) {
    this.options = options;
  }

  /** Runs until `untilMs`, then waits until everything works again. */
  async run(untilMs: number): Promise<void> {
    const { random, killsPerMinute } = this.options;
    const gapMs = (60_000 / killsPerMinute) * (KILLS_IN_DECK / CARDS);
    while (performance.now() < untilMs) {
      await delay(gapMs * 2 * random.fraction());
      const work = this.deal().catch((error: unknown) => {
        this.options.onDeed(`failed: ${error instanceof Error ? error.message : error}`);
      });
      this.under.add(work);
      void work.finally(() => this.under.delete(work));
    }
    await this.heal();
  }

  private async heal(): Promise<void> {
    this.stopping = true;
    const limit = delay(HEAL_TIMEOUT_MS, "late" as const, { ref: false });
    const all = Promise.all(this.under).then(() => "healed" as const);
    if ((await Promise.race([all, limit])) === "late") throw new Error("not everything recovered");
  }

  private async deal(): Promise<void> {
    if (this.deck.length === 0) this.deck = this.shuffled();
    const deed = this.deck.pop();
    if (deed === undefined) return;
    if (await this.act(deed)) this.done.set(deed, (this.done.get(deed) ?? 0) + 1);
    // Its victim is already down; the deed goes back into the deck.
    else this.deck.unshift(deed);
  }

  private act(deed: Deed): Promise<boolean> {
    const { random } = this.options;
    switch (deed) {
      case "kill gateway":
      case "kill redis":
      case "kill postgres":
      case "kill simulator":
        return this.kill(deed);
      case "freeze gateway past its lease":
        return this.freeze("gateway", PAST_LEASE_MS + random.below(3_000));
      case "freeze gateway":
        return this.freeze("gateway", 100 + random.below(3_000));
      case "freeze redis":
        return this.freeze("redis", 100 + random.below(2_000));
      case "freeze postgres":
        return this.freeze("postgres", 100 + random.below(4_000));
      case "freeze simulator":
        return this.freeze("simulator", 100 + random.below(2_000));
      case "cut a connection":
        return this.disturb((link) => link.proxy.cut(), "cut");
      case "slow a connection": {
        const delayMs = 5 + random.below(200);
        return this.disturb((link) => link.proxy.slow(delayMs), `slowed by ${delayMs} ms`);
      }
      case "wipe redis":
      case "restore an old redis":
        return this.forget(deed);
    }
  }

  private async kill(deed: Deed): Promise<boolean> {
    const actor = this.victim(deed.slice("kill ".length));
    if (!actor) return false;
    return this.with(actor, async () => {
      if (actor.kind === "gateway") {
        const lostAtMs = this.redisLostAtMs;
        if (this.isForgetting || !(await this.isCommitted(lostAtMs))) return false;
        // During the check, Redis may have begun to lose data, or lost it again.
        if (this.isForgetting || this.redisLostAtMs !== lostAtMs) return false;
        this.gatewayLostAtMs = Date.now();
      }
      const downMs = this.options.random.below(3_000);
      this.tell(`kill -9 ${actor.name}, for ${downMs} ms`);
      this.kills += 1;
      await actor.kill();
      await delay(downMs);
      await startAgain(actor, () => true);
      this.tell(`${actor.name} is back`);
      return true;
    });
  }

  private async freeze(kind: Actor["kind"], ms: number): Promise<boolean> {
    const actor = this.victim(kind);
    if (!actor) return false;
    return this.with(actor, async () => {
      this.tell(`freeze ${actor.name} for ${ms} ms`);
      actor.signal("SIGSTOP");
      await delay(ms);
      actor.signal("SIGCONT");
      return true;
    });
  }

  private async disturb(harm: (link: Link) => void, what: string): Promise<boolean> {
    const { random, stage } = this.options;
    const link = random.pick(stage.links);
    if (this.busy.has(link)) return false;
    const ms = 50 + random.below(3_000);
    return this.with(link, async () => {
      this.tell(`${link.name}: ${what}, for ${ms} ms`);
      harm(link);
      await delay(ms);
      link.proxy.slow(0);
      link.proxy.restore();
      return true;
    });
  }

  /** Makes Redis lose data. First the posts of dead gateways must be in the ledger. */
  private async forget(deed: Deed): Promise<boolean> {
    const actor = this.victim("redis");
    const { redis, snapshots } = this.options.stage;
    if (!actor || this.isForgetting) return false;
    if (deed === "restore an old redis" && !snapshots.isThere) return false;
    this.isForgetting = true;
    try {
      return await this.with(actor, async () => {
        if (!(await this.isCommitted(this.gatewayLostAtMs))) return false;
        this.redisLostAtMs = Date.now();
        if (deed === "wipe redis") {
          this.tell("wipe redis");
          await redis.call("FLUSHALL");
        } else {
          this.tell("kill -9 redis, and restore an old snapshot of it");
          this.kills += 1;
          await redis.kill();
          snapshots.putBack();
          await startAgain(actor, () => true);
        }
        this.redisLostAtMs = Date.now();
        return true;
      });
    } finally {
      this.isForgetting = false;
    }
  }

  private isCommitted(atMs: number): Promise<boolean> {
    if (this.stopping) return Promise.resolve(false);
    return this.options.confirmed.through(atMs, CONFIRM_TIMEOUT_MS);
  }

  private victim(kind: string): Actor | undefined {
    const { stage, random } = this.options;
    const free = stage.actors.filter((actor) => actor.kind === kind && !this.busy.has(actor));
    return free.length === 0 ? undefined : random.pick(free);
  }

  private async with(thing: Actor | Link, work: () => Promise<boolean>): Promise<boolean> {
    this.busy.add(thing);
    try {
      return await work();
    } finally {
      this.busy.delete(thing);
    }
  }

  private shuffled(): Deed[] {
    const { random, deeds } = this.options;
    const cards = deeds.flatMap((deed) => Array.from({ length: DECK[deed] }, () => deed));
    for (let at = cards.length - 1; at > 0; at -= 1) {
      const other = random.below(at + 1);
      [cards[at], cards[other]] = [cards[other]!, cards[at]!];
    }
    return cards;
  }

  private tell(what: string): void {
    this.options.onDeed(what);
  }
}
