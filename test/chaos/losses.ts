import type { ClientCall } from "./call.ts";
import type { Confirmed } from "./confirmed.ts";

const CONFIRM_TIMEOUT_MS = 20_000;

/** The loss that a fault may cause, if another fault follows before the ledger has every post. */
export type Loss =
  /** A gateway dies: until they are committed, its posts are only in Redis. */
  | "gateway"
  /** Redis loses data: what was posted before is only in the memory of the gateways. */
  | "redis"
  /** Both at once. */
  | "both"
  /** Postgres loses what it had committed, while no gateway and no Redis is harmed. */
  | "ledger"
  /** A gateway is frozen for longer than its lease, and commits what it read before. */
  | "lease";

/** A loss that a fault causes on purpose. The README of the project lists it. */
export interface Allowance {
  readonly name: string;
  /** Undefined for all of them. */
  readonly gateway: number | undefined;
  /** Calls of this gateway that ended within this time may be in no record. */
  readonly fromMs: number;
  readonly toMs: number;
}

const DOUBLE_FAILURE = "Redis loses its data, and a gateway dies with it";
const RESTORED_BACKUP = "Postgres loses what it had committed after a backup";

/** The double failure that may have lost the charge of a call. */
export function allowanceOf(
  { gateway, plan, stalled, startedMs, endedMs }: ClientCall,
  allowances: readonly Allowance[],
): Allowance | undefined {
  // A slow reader sees the end of its reply seconds after the call was posted.
  const postedFromMs = plan.reader === "slow" || stalled ? startedMs : endedMs;
  return allowances.find(
    (one) =>
      (one.gateway ?? gateway) === gateway && one.fromMs <= endedMs && postedFromMs <= one.toMs,
  );
}

/** Ends a permission, when everything is as before. */
export type Release = () => void;

/**
 * Keeps apart the faults that lose charges together: a gateway and the data of Redis, or the data of
 * Redis and a gateway that sleeps. A fault that does both on purpose is allowed its losses, call by call.
 */
export class Losses {
  private gatewayLostAtMs = 0;
  private redisLostAtMs = 0;
  private losingRedis = 0;
  private sleeping = 0;
  private stopping = false;

  /** Adds to `allowances` the losses that a fault was allowed. */
  constructor(
    private readonly confirmed: Confirmed,
    private readonly allowances: Allowance[],
  ) {}

  /** From now on every permission that has to wait is refused. */
  stop(): void {
    this.stopping = true;
  }

  /** Waits until the loss costs nothing. Returns undefined if that takes too long. */
  permit(loss: Loss, gateway: number): Promise<Release | undefined> {
    switch (loss) {
      case "gateway":
        return this.permitGateway();
      case "redis":
        return this.permitRedis();
      case "ledger":
        return this.permitLedger();
      case "lease":
        return Promise.resolve(this.permitSleep());
      case "both":
        return this.permitBoth(gateway);
    }
  }

  private async permitGateway(): Promise<Release | undefined> {
    const lostAtMs = this.redisLostAtMs;
    if (this.losingRedis > 0 || !(await this.isCommitted(lostAtMs))) return undefined;
    // During the check, Redis may have begun to lose data, or lost it again.
    if (this.losingRedis > 0 || this.redisLostAtMs !== lostAtMs) return undefined;
    this.gatewayLostAtMs = Date.now();
    return () => {};
  }

  private async permitRedis(): Promise<Release | undefined> {
    if (this.sleeping > 0) return undefined;
    this.losingRedis += 1;
    if (!(await this.isCommitted(this.gatewayLostAtMs)) || this.sleeping > 0) {
      this.losingRedis -= 1;
      return undefined;
    }
    this.redisLostAtMs = Date.now();
    return () => {
      this.redisLostAtMs = Date.now();
      this.losingRedis -= 1;
    };
  }

  private permitSleep(): Release | undefined {
    if (this.losingRedis > 0) return undefined;
    this.sleeping += 1;
    return () => {
      this.sleeping -= 1;
    };
  }

  private async permitBoth(gateway: number): Promise<Release | undefined> {
    const fromMs = Date.now();
    if (this.losingRedis > 0 || !(await this.isCommitted(fromMs))) return undefined;
    const release = await this.permitRedis();
    if (!release) return undefined;
    this.gatewayLostAtMs = Date.now();
    return () => {
      release();
      this.gatewayLostAtMs = Date.now();
      this.allowances.push({ name: DOUBLE_FAILURE, gateway, fromMs, toMs: Date.now() });
    };
  }

  private async permitLedger(): Promise<Release | undefined> {
    const fromMs = Date.now();
    if (!(await this.isCommitted(fromMs))) return undefined;
    return () => {
      const allowance = { name: RESTORED_BACKUP, gateway: undefined, fromMs, toMs: Date.now() };
      this.allowances.push(allowance);
    };
  }

  /** Waits until the ledger has every whole reply that was posted before. False if that takes too long. */
  isCommitted(atMs: number): Promise<boolean> {
    if (this.stopping) return Promise.resolve(false);
    return this.confirmed.through(atMs, CONFIRM_TIMEOUT_MS);
  }
}
