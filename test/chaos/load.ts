import { setTimeout as delay } from "node:timers/promises";
import type { Customer } from "../support/admin.ts";
import { Random } from "../support/random.ts";
import { type ClientCall, call, type OpenClient } from "./call.ts";
import { type CallPlan, planCall, planQuickCall } from "./plan.ts";

/** A refused client retries after this pause. */
const REFUSED_PAUSE_MS = 100;
/** A prime, so that the random streams of two calls do not overlap in step. */
const SEED_STEP = 7_919;

export interface LoadOptions {
  readonly seed: number;
  readonly lanes: number;
  readonly rich: readonly Customer[];
  /** Customers whose wallets are often too low for a call. */
  readonly poor: readonly Customer[];
  readonly ports: readonly number[];
}

/** Clients that call without a pause, and record everything they see. */
export class Load {
  readonly calls: ClientCall[] = [];
  /** Clients whose calls run. */
  readonly open = new Set<OpenClient>();
  private readonly lanes: Promise<void>[];
  private number = 0;
  private stopping = false;

  constructor(private readonly options: LoadOptions) {
    this.lanes = Array.from({ length: options.lanes }, () => this.lane());
  }

  /** Resolves when the last call has ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.lanes);
  }

  /**
   * Calls one gateway from `lanes` more clients with short calls that their wallets cover, until
   * `isEnough` or the load ends.
   */
  async rush(gateway: number, lanes: number, isEnough: () => boolean): Promise<void> {
    const lane = async () => {
      while (!this.stopping && !isEnough()) {
        await this.next(planQuickCall, this.options.rich, () => gateway);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }

  /** Makes one short call, which the wallet covers. */
  one(gateway: number, customer = this.options.rich[0]!): Promise<ClientCall> {
    const { random, number } = this.draw();
    return this.make(planQuickCall(random, number), customer, gateway);
  }

  private async lane(): Promise<void> {
    const { rich, poor, ports } = this.options;
    const all = [...rich, ...poor];
    while (!this.stopping) await this.next(planCall, all, (random) => random.below(ports.length));
  }

  private async next(
    planning: Planning,
    customers: readonly Customer[],
    gatewayOf: (random: Random) => number,
  ): Promise<void> {
    const { random, number } = this.draw();
    const plan = planning(random, number);
    const customer = random.pick(customers);
    const done = await this.make(plan, customer, gatewayOf(random));
    if (done.end === "refused" || done.status === 0) await delay(REFUSED_PAUSE_MS);
  }

  private async make(plan: CallPlan, customer: Customer, gateway: number): Promise<ClientCall> {
    const { accountId, key } = customer;
    const port = this.options.ports[gateway]!;
    const done = await call(plan, { gateway, port, accountId, key }, this.open);
    this.calls.push(done);
    return done;
  }

  private draw(): { random: Random; number: number } {
    this.number += 1;
    return { random: new Random(this.options.seed + this.number * SEED_STEP), number: this.number };
  }
}

type Planning = (random: Random, number: number) => CallPlan;
