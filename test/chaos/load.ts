import { setTimeout as delay } from "node:timers/promises";
import type { Customer } from "../support/admin.ts";
import { Random } from "../support/random.ts";
import { type ClientCall, call } from "./call.ts";
import { planCall } from "./plan.ts";

/** A refused client retries after this pause. */
const REFUSED_PAUSE_MS = 100;
/** A prime, so that the random streams of two calls do not overlap in step. */
const SEED_STEP = 7_919;

export interface LoadOptions {
  readonly seed: number;
  readonly lanes: number;
  readonly customers: readonly Customer[];
  readonly ports: readonly number[];
}

/** Clients that call without a pause, and record everything they see. */
export class Load {
  readonly calls: ClientCall[] = [];
  private readonly options: LoadOptions;
  private readonly lanes: Promise<void>[];
  private number = 0;
  private stopping = false;

  constructor(options: LoadOptions) {
    this.options = options;
    this.lanes = Array.from({ length: options.lanes }, () => this.lane());
  }

  /** Resolves when the last call has ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.lanes);
  }

  private async lane(): Promise<void> {
    const { seed, customers, ports } = this.options;
    while (!this.stopping) {
      this.number += 1;
      const random = new Random(seed + this.number * SEED_STEP);
      const plan = planCall(random, this.number);
      const customer = random.pick(customers);
      const gateway = random.below(ports.length);
      const { accountId, key } = customer;
      const done = await call(plan, { gateway, port: ports[gateway]!, accountId, key });
      this.calls.push(done);
      if (done.end === "refused" || done.status === 0) await delay(REFUSED_PAUSE_MS);
    }
  }
}
