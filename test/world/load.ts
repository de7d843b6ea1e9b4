import type { Credit } from "../../core/contract/ledger.ts";
import type { Random } from "../support/random.ts";
import { type CallPlan, planCall } from "./call-plan.ts";
import { SimulatedClient } from "./client.ts";
import { type SimulatedGateway, TOKEN_MICRO_VND } from "./gateway.ts";
import type { World } from "./world.ts";

const RETRY_MS = 700;
const TRIES_MAX = 40;

/** The load: clients make calls, operators move money. */
export class Load {
  private readonly world: World;
  private readonly random: Random;
  private calls = 0;
  private references = 0;

  constructor(world: World, random: Random) {
    this.world = world;
    this.random = random;
  }

  /** Spreads all calls and movements over the time of the load. */
  begin(): void {
    const { world, random } = this;
    const { plan, scheduler } = world;
    for (let at = 0; at < plan.calls; at += 1) {
      scheduler.after(random.below(plan.loadMs), "call", () => this.call());
    }
    for (let at = 0; at < plan.movements; at += 1) {
      scheduler.after(random.below(plan.loadMs), "movement", () => this.move());
    }
  }

  /** Makes one call at a random listening gateway. */
  private call(): void {
    const { world, random } = this;
    const listening = world.gateways.filter((gateway) => gateway.listening);
    if (listening.length === 0) return;
    const accountId = random.pick(world.accounts);
    const account = { accountId, keyId: `key of ${accountId}` };
    this.calls += 1;
    const call = planCall(random, `c${this.calls}`, account, world.plan.trouble);
    this.send(call, random.pick(listening));
  }

  send(plan: CallPlan, gateway: SimulatedGateway): SimulatedClient {
    const { world } = this;
    const { scheduler } = world;
    world.callPlans.set(plan.number, plan);
    const client = new SimulatedClient(plan, world.newId(), scheduler, gateway.process);
    world.judge.called(client, gateway);
    gateway.process.receive(2, "request", () => gateway.serve(client));
    if (plan.leavesAfterMs < Number.POSITIVE_INFINITY) {
      scheduler.after(plan.leavesAfterMs, "client leaves", () => client.leave("left"));
    }
    return client;
  }

  /** Sends a top-up or an adjustment. Most operators retry while it fails. */
  private move(): void {
    const { world, random } = this;
    this.references += 1;
    const isTopUp = random.chance(0.6);
    const tokens = 1 + random.below(isTopUp ? world.plan.walletTokens : 300);
    const movement: Credit = {
      accountId: random.pick(world.accounts),
      amountMicroVnd: BigInt(tokens * TOKEN_MICRO_VND) * (isTopUp ? 1n : -1n),
      reference: `m${this.references}`,
      kind: isTopUp ? "topup" : "adjustment",
      reason: null,
    };
    this.tryMovement(movement, random.chance(0.7) ? TRIES_MAX : 1);
  }

  private tryMovement(movement: Credit, triesLeft: number): void {
    const { world, random } = this;
    const listening = world.gateways.filter((gateway) => gateway.listening);
    const again = () => {
      if (triesLeft <= 1) return;
      world.scheduler.after(RETRY_MS, "movement again", () =>
        this.tryMovement(movement, triesLeft - 1),
      );
    };
    if (listening.length === 0) return again();
    const gateway = random.pick(listening);
    const { process } = gateway;
    let isOver = false;
    const over = (what: string, next: () => void) => {
      if (isOver) return;
      isOver = true;
      world.scheduler.trace(`movement ${movement.reference} ${what}`);
      next();
    };
    process.receive(2, "movement", () => {
      gateway.wallets.credit(movement).then(
        (result) => over(result.kind, () => {}),
        () => over("failed", again),
      );
    });
    // If its gateway dies, no result arrives.
    world.scheduler.after(10_000, "movement unheard", () => over("unheard", again));
  }
}
