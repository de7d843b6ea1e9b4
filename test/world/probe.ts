import { lastingKeyOf } from "./account-load.ts";
import type { CallPlan } from "./call-plan.ts";
import type { SimulatedClient } from "./client.ts";
import type { SimulatedGateway } from "./gateway.ts";
import type { Load } from "./load.ts";
import { TOKEN_MICRO_VND } from "./model.ts";
import type { World } from "./world.ts";

const RETRY_MS = 2_000;
const MONEY_TOKENS = 2_000;

/** After this time without a fault every gateway has read which keys were revoked. */
const REVOKED_AFTER_MS = 12_000;

/** Checks after all faults that every gateway serves every account again, and tries the revoked keys. */
export class Probe {
  private readonly served = new Set<string>();
  /** Names of the probes that were not sent yet, or have no reply yet. */
  private readonly waiting = new Set<string>();
  private readonly last = new Map<string, string>();
  private sent = 0;

  constructor(
    private readonly world: World,
    private readonly load: Load,
  ) {}

  begin(): void {
    const { world } = this;
    for (const accountId of world.accounts) {
      for (const { name } of world.hosts) this.tryLater(accountId, name);
    }
    if (world.plan.faults.has("keyRevoked")) {
      this.waiting.add("the revoked keys");
      world.scheduler.after(REVOKED_AFTER_MS, "probe", () => this.tryRevoked());
    }
  }

  problems(): string[] {
    const { accounts, hosts } = this.world;
    const pairs = accounts.flatMap((accountId) => hosts.map(({ name }) => `${name} ${accountId}`));
    const unserved = pairs
      .filter((pair) => !this.served.has(pair))
      .map((pair) => `${pair} is not served again: ${this.last.get(pair) ?? "not asked"}`);
    return [...unserved, ...[...this.waiting].map((what) => `no reply to ${what}`)];
  }

  /** Calls every gateway with every revoked key. The judge sees if one of them is served. */
  private tryRevoked(): void {
    const { hosts, ledger, scheduler } = this.world;
    this.waiting.clear();
    for (const keyId of ledger.books.revokedKeys) {
      for (const { name, gateway } of hosts) {
        if (!gateway?.listening) continue;
        this.waiting.add(`${name} ${keyId}`);
        this.sent += 1;
        const [, accountId = ""] = keyId.split(" of ");
        const client = this.load.send(this.plan(accountId, keyId), gateway);
        client.onEnd = () => {
          scheduler.trace(`${keyId} ${client.status}`);
          this.waiting.delete(`${name} ${keyId}`);
        };
      }
    }
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
    const client = this.load.send(this.plan(accountId, lastingKeyOf(accountId)), gateway);
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

  private plan(accountId: string, keyId: string): CallPlan {
    const never = Number.POSITIVE_INFINITY;
    return {
      number: `p${this.sent}`,
      accountId,
      keyId,
      purses: [],
      isFree: false,
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
