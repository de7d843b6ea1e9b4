import { setTimeout as delay } from "node:timers/promises";
import { isObject, objectOf, parseJson } from "../../core/process/json.ts";
import type { Customer } from "../support/admin.ts";
import { runAdmin, runReconcile } from "../support/proof.ts";
import type { GatewayActor } from "./actors.ts";
import type { Violation } from "./evidence.ts";
import { uncommitted } from "./faults/fault.ts";
import type { Load } from "./load.ts";
import { type RedisState, readRedisState } from "./redis-state.ts";
import type { Stage } from "./stage.ts";

const POLL_MS = 100;

/** Checks that a stage works again within `limitS` after its last fault. */
export class Recovery {
  readonly violations: Violation[] = [];
  private readonly deadline: number;

  constructor(
    private readonly stage: Stage,
    limitS: number,
  ) {
    this.deadline = performance.now() + limitS * 1_000;
  }

  /** Every gateway is ready with all of its stores, and serves every customer. */
  async served(load: Load, customers: readonly Customer[]): Promise<void> {
    await this.within("redis is whole again", "it is not", () => this.stage.redis.isWhole());
    for (const actor of this.stage.gateways) {
      await this.within("a gateway becomes ready", actor.name, () => isReady(actor));
      for (const customer of customers) {
        const what = `${actor.name} refuses ${customer.accountId}`;
        await this.within("a gateway serves every account again", what, async () => {
          return (await load.one(actor.index, customer)).status === 200;
        });
      }
    }
  }

  /**
   * Waits until no money is held and every outbox is empty. On timeout it returns the state, for the
   * proof to report.
   */
  async settled(): Promise<RedisState | undefined> {
    let state: RedisState | undefined;
    const isEmpty = async () => {
      state = await readRedisState(this.stage.redis);
      if (state.holds.size > 0 || state.outboxEntries > 0) return false;
      const waiting = await Promise.all(this.stage.gateways.map(uncommitted));
      return waiting.every((posts) => posts === 0);
    };
    await this.within("every outbox is emptied", "posts or holds are left", isEmpty);
    return readRedisState(this.stage.redis).catch(() => state);
  }

  /** Commits the calls in quarantine, which older gateways could not read. Returns how many. */
  async retried(): Promise<number> {
    const [actor] = this.stage.gateways;
    let [settled, output] = [0, ""];
    await this.within(
      "quarantine retry-all commits all after the upgrade",
      () => output,
      async () => {
        const result = await runAdmin(actor!.gateway, "quarantine", "retry-all");
        output = result.output;
        settled += Number(objectOf(parseJson(output))?.["settled"] ?? 0);
        return result.code === 0;
      },
    );
    return settled;
  }

  /** Each gateway's `reconcile` finds no drift, once it has joined its buckets again. */
  async reconciled(): Promise<void> {
    for (const actor of this.stage.gateways) {
      let output = "";
      await this.within(
        "reconcile shows no drift",
        () => `${actor.name}: ${output}`,
        async () => {
          const result = await runReconcile(actor.gateway);
          output = result.output;
          return result.code === 0;
        },
      );
    }
  }

  /** Tries at least once. */
  private async within(
    rule: string,
    what: string | (() => string),
    isSo: () => Promise<boolean>,
  ): Promise<void> {
    while (!(await isSo().catch(() => false))) {
      if (performance.now() > this.deadline) {
        this.violations.push({ rule, what: typeof what === "string" ? what : what() });
        return;
      }
      await delay(POLL_MS);
    }
  }
}

async function isReady({ gateway }: GatewayActor): Promise<boolean> {
  const reply = await fetch(`${gateway.url}/readyz`, { signal: AbortSignal.timeout(5_000) });
  const state: unknown = await reply.json();
  return reply.status === 200 && isObject(state) && state["hot"] === "ok";
}
