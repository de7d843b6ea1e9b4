import type { CallPlan } from "./call-plan.ts";
import type { SimulatedClient } from "./client.ts";
import { type SimulatedGateway, TOKEN_MICRO_VND } from "./gateway.ts";
import type { Load } from "./load.ts";
import type { World } from "./world.ts";

const RETRY_MS = 2_000;
const MONEY_TOKENS = 2_000;

/** Checks after all faults that every gateway serves every account again. */
export class Probe {
  private readonly world: World;
  private readonly load: Load;
  private readonly served = new Set<string>();
  private readonly last = new Map<string, string>();
  private sent = 0;

  constructor(world: World, load: Load) {
    this.world = world;
    this.load = load;
  }

  begin(): void {
    const { world } = this;
    for (const accountId of world.accounts) {
      for (const { name } of world.hosts) this.tryLater(accountId, name);
    }
  }

  problems(): string[] {
    const { accounts, hosts } = this.world;
    const pairs = accounts.flatMap((accountId) => hosts.map(({ name }) => `${name} ${accountId}`));
    return pairs
      .filter((pair) => !this.served.has(pair))
      .map((pair) => `${pair} is not served again: ${this.last.get(pair) ?? "not asked"}`);
  }

  private tryLater(accountId: string, host: string): void {
    this.world.scheduler.after(RETRY_MS, "probe", () => this.tryNow(accountId, host));
  }

  private tryNow(accountId: string, host: string): void {
    const { world } = this;
    const gateway = world.hosts.find(({ name }) => name === host)?.gateway;
    const pair = `${host} ${accountId}`;
    if (!gateway?.listening) {
      this.last.set(pair, gateway ? "it does not listen" : "it does not run");
      return this.tryLater(accountId, host);
    }
    this.sent += 1;
    const client = this.load.send(this.plan(accountId), gateway);
    client.onEnd = () => this.heard(client, pair, accountId, host, gateway);
  }

  private heard(
    { end, status }: SimulatedClient,
    pair: string,
    accountId: string,
    host: string,
    gateway: SimulatedGateway,
  ): void {
    if (end === "whole") return void this.served.add(pair);
    this.last.set(pair, `${end} ${status}`);
    this.tryLater(accountId, host);
    if (status === 402) this.topUp(accountId, gateway);
  }

  /** Tops up every account: the load may have spent all of its money. */
  private topUp(accountId: string, gateway: SimulatedGateway): void {
    const movement = {
      accountId,
      amountMicroVnd: BigInt(MONEY_TOKENS * TOKEN_MICRO_VND),
      reference: `probe ${this.sent}`,
      kind: "topup",
      reason: null,
    } as const;
    gateway.process.receive(2, "top-up", () => {
      gateway.wallets.credit(movement).catch(() => {});
    });
  }

  private plan(accountId: string): CallPlan {
    const never = Number.POSITIVE_INFINITY;
    return {
      number: `p${this.sent}`,
      accountId,
      keyId: `key of ${accountId}`,
      stream: this.sent % 2 === 0,
      maxTokens: 20,
      providerStatus: 200,
      inputTokens: 5,
      outputTokens: 10,
      tokensPerChunk: 5,
      msPerToken: 1,
      firstByteMs: 5,
      reportsUsage: true,
      breaksAfterTokens: never,
      leavesAfterMs: never,
      readsAfterMs: 0,
    };
  }
}
