import type { Random } from "../../../support/random.ts";
import type { Scheduler } from "../../scheduler.ts";
import type { ClusterNode } from "./node.ts";

const STEP_MS_MAX = 25;
const KEYS_AT_ONCE_MAX = 10;
/** An operator who is interrupted goes on after this time. */
const PAUSE_MS_MAX = 2_500;
const PAUSED_SHARE = 0.1;

interface MigrationOptions {
  readonly slot: number;
  readonly source: ClusterNode;
  readonly target: ClusterNode;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** A slot on its way to another node, as `redis-cli --cluster reshard` moves it. */
export class Migration {
  private isOver = false;

  /** `onMoved`: gives the slot to its new owner. */
  constructor(
    private readonly options: MigrationOptions,
    private readonly onMoved: () => void,
  ) {}

  get slot(): number {
    return this.options.slot;
  }

  isOf(node: ClusterNode): boolean {
    return this.otherThan(node) !== undefined;
  }

  /** Returns the node to or from which the slot moves, if `node` is the other end. */
  otherThan(node: ClusterNode): ClusterNode | undefined {
    const { source, target } = this.options;
    if (node === source) return target;
    return node === target ? source : undefined;
  }

  begin(): void {
    const { slot, source, target } = this.options;
    target.importing.add(slot);
    this.later(() => {
      source.migrating.set(slot, target);
      this.later(() => this.step());
    });
  }

  /** Moves all keys that are left. */
  finish(): void {
    if (this.isOver) return;
    const { slot, source } = this.options;
    for (const key of source.keysIn(slot)) this.move(key);
    this.end();
  }

  private step(): void {
    const { slot, source, target, random } = this.options;
    const keys = source.keysIn(slot);
    if (keys.length === 0) return this.end();
    // A node that is down or silent is asked again.
    const isServed = source.up && target.up && !source.frozen && !target.frozen;
    const count = isServed ? 1 + random.below(KEYS_AT_ONCE_MAX) : 0;
    for (let left = Math.min(count, keys.length); left > 0; left -= 1) {
      const [key = ""] = keys.splice(random.below(keys.length), 1);
      this.move(key);
    }
    this.later(() => this.step(), random.chance(PAUSED_SHARE) ? PAUSE_MS_MAX : STEP_MS_MAX);
  }

  private move(key: string): void {
    const { source, target, scheduler } = this.options;
    if (target.data.has(key)) scheduler.trace(`fault: ${key} is at both nodes`);
    source.moveKey(key, target);
  }

  private end(): void {
    this.isOver = true;
    this.onMoved();
  }

  private later(work: () => void, msMax = STEP_MS_MAX): void {
    const { scheduler, random } = this.options;
    scheduler.after(random.below(msMax), "slot moves", () => {
      if (!this.isOver) work();
    });
  }
}
