import type { Movement } from "../../core/money/outbox-entry.ts";

import type { Random } from "../support/random.ts";
import { type CallPlan, planCall } from "./call-plan.ts";
import { SimulatedClient } from "./client.ts";
import type { SimulatedGateway } from "./gateway.ts";
import { TOKEN_MICRO_VND } from "./model.ts";
import { operate, TRIES_MAX } from "./operation.ts";
import type { World } from "./world.ts";

/** Counted, so that which calls are free takes no random number, and seeds stay what they were but for those. */
const FREE_CALL_EVERY = 13;

/** The load: clients make calls, operators move money. */
export class Load {
  private calls = 0;
  private references = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

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
    this.calls += 1;
    const isFree = this.calls % FREE_CALL_EVERY === 0;
    const account = { accountId, isFree, ...world.accountLoad.next(accountId) };
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
    const movement: Movement = {
      accountId: random.pick(world.accounts),
      amountMicroVnd: BigInt(tokens * TOKEN_MICRO_VND) * (isTopUp ? 1n : -1n),
      reference: `m${this.references}`,
      kind: isTopUp ? "topup" : "adjustment",
      reason: null,
    };
    operate(world, random, random.chance(0.7) ? TRIES_MAX : 1, {
      name: `movement ${movement.reference}`,
      run: async ({ wallets }) => {
        const { books } = world.ledger;
        const { kind } = await wallets.credit(movement);
        // A restore in the meantime gives the ledger other books.
        if (kind === "credited" && books === world.ledger.books) world.judge.confirmed(movement);
        return kind;
      },
    });
  }
}
