import type { OutboxEntry } from "../../core/contract/hold-store.ts";
import type { SimulatedClient } from "./client.ts";
import { type SimulatedGateway, TOKEN_MICRO_VND } from "./gateway.ts";
import type { Host } from "./host.ts";
import type { World } from "./world.ts";

/** A journal that is not synced at each write is synced within this time. */
const JOURNAL_SYNCED_MS = 1_050;
/** Upper bound of the estimated input of a call. */
const INPUT_TOKENS_MAX = 60;
/** Upper bound of estimated output, as a share of the real output. */
const ESTIMATE_SHARE_MAX = 1.25;

interface CallRecord {
  readonly client: SimulatedClient;
  readonly gateway: SimulatedGateway;
}

/** Records every call and what its client received. At the end it compares them with the books. */
export class Judge {
  private readonly world: World;
  private readonly records: CallRecord[] = [];
  private readonly powerLosses: { readonly host: Host; readonly atMs: number }[] = [];
  private readonly forgotten = new Set<string>();
  /** Violations of what must hold at every instant. */
  readonly broken: string[] = [];

  constructor(world: World) {
    this.world = world;
  }

  called(client: SimulatedClient, gateway: SimulatedGateway): void {
    this.records.push({ client, gateway });
  }

  /** Records a violation. */
  violated(what: string): void {
    if (this.broken.length < 20 && !this.broken.includes(what)) this.broken.push(what);
  }

  /** Records posts that Redis lost. */
  lostInRedis(callIds: readonly string[]): void {
    for (const callId of callIds) this.forgotten.add(callId);
  }

  powerLost(host: Host): void {
    this.powerLosses.push({ host, atMs: this.world.scheduler.nowMs });
  }

  get counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { client } of this.records) {
      const end = client.end ?? "running";
      counts[end] = (counts[end] ?? 0) + 1;
    }
    return counts;
  }

  /** Returns all violations. Call it once every fault is over and everything had time to drain. */
  problems(): string[] {
    const problems = [...this.broken];
    for (const record of this.records) {
      const problem = this.callProblem(record);
      if (problem) problems.push(problem);
    }
    for (const { name, gateway } of this.world.hosts) {
      const backlog = gateway?.holdStore.uncommittedCalls() ?? 0;
      if (backlog > 0) problems.push(`${name} has ${backlog} uncommitted calls`);
    }
    for (const accountId of this.world.accounts) problems.push(...this.walletProblems(accountId));
    return problems;
  }

  private callProblem({ client, gateway }: CallRecord): string | undefined {
    const { plan, callId } = client;
    const name = `call ${plan.number} (${callId.slice(0, 8)})`;
    if (client.end === undefined) return `${name} never ends`;
    const { books } = this.world.ledger;
    if (books.quarantine.has(callId)) return `${name} is in quarantine`;
    const entry = books.charges.get(callId);
    if (entry === undefined) return this.uncharged({ client, gateway }, name);
    const { costMicroVnd, outcome } = entry.posting;
    if (entry.chargedMicroVnd + entry.writtenOffMicroVnd !== costMicroVnd) {
      return `${name}: charged and written off are not its cost`;
    }
    const tokens = this.world.servedTokens(plan);
    if (client.end === "whole" && plan.reportsUsage) {
      const due = (plan.inputTokens + tokens) * TOKEN_MICRO_VND;
      if (costMicroVnd !== due) return `${name} cost ${costMicroVnd}, and is charged ${due}`;
    }
    if (client.end === "refused" && outcome === "refused" && costMicroVnd > 0) {
      return `${name} was refused, and is charged ${costMicroVnd}`;
    }
    const most = (INPUT_TOKENS_MAX + Math.ceil(tokens * ESTIMATE_SHARE_MAX)) * TOKEN_MICRO_VND;
    if (costMicroVnd > most) return `${name} is charged ${costMicroVnd}, more than ${most}`;
    return this.freeOutput(entry, client, name);
  }

  /** Checks what was written off. Without faults, only the chunk at which a stream was cut may exceed the hold. */
  private freeOutput(
    { writtenOffMicroVnd }: OutboxEntry,
    { plan }: SimulatedClient,
    name: string,
  ): string | undefined {
    const { plan: world } = this.world;
    if (world.faults.size > 0 || world.whenExhausted === "finish") return undefined;
    const chunk = plan.stream ? Math.ceil(plan.tokensPerChunk * ESTIMATE_SHARE_MAX) : 0;
    if (writtenOffMicroVnd <= chunk * TOKEN_MICRO_VND) return undefined;
    return `${name}: ${writtenOffMicroVnd} µđ are written off`;
  }

  private uncharged({ client, gateway }: CallRecord, name: string): string | undefined {
    const isWhole = client.end === "whole";
    if (!isWhole && client.deliveredTokens === 0) return undefined;
    // A gateway died during the reply: what its client received by then is free.
    if (!isWhole && !gateway.process.alive) return undefined;
    if (this.lostPowerAfter(client, gateway)) return undefined;
    // README, limits of the guarantees: Redis loses its data, and a gateway dies before it commits its posts.
    if (this.forgotten.has(client.callId) && !gateway.process.alive) return undefined;
    const what = isWhole ? "was received whole" : `delivered ${client.deliveredTokens} tokens`;
    return `${name} ${what} (${client.end}) and is not charged`;
  }

  /**
   * Returns true for posts that may be lost with `journal: sync: false`: of the second before a loss of power, or
   * before a freeze.
   */
  private lostPowerAfter({ endedMs }: SimulatedClient, { process }: SimulatedGateway): boolean {
    if (this.world.plan.store !== "embedded") return false;
    return this.powerLosses.some(
      ({ host, atMs }) =>
        process.name.startsWith(`${host.name}.`) &&
        atMs > endedMs - JOURNAL_SYNCED_MS &&
        (atMs <= endedMs + JOURNAL_SYNCED_MS || !process.ranSince(endedMs)),
    );
  }

  private walletProblems(accountId: string): string[] {
    const { ledger } = this.world;
    const sum = ledger.books.sum(accountId);
    if (!sum) return [`${accountId} has no wallet`];
    const problems: string[] = [];
    if (sum.entriesMicroVnd !== sum.balanceMicroVnd) {
      problems.push(
        `${accountId}: rows add up to ${sum.entriesMicroVnd}, not ${sum.balanceMicroVnd}`,
      );
    }
    const balances = this.world.balancesOf(accountId);
    if (balances === undefined) return problems;
    const { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd } = balances;
    if (heldMicroVnd !== 0) problems.push(`${accountId}: ${heldMicroVnd} held by no call`);
    if (uncommittedMicroVnd !== 0)
      problems.push(`${accountId}: ${uncommittedMicroVnd} uncommitted`);
    const total = BigInt(availableMicroVnd + heldMicroVnd + uncommittedMicroVnd);
    const expected = sum.balanceMicroVnd - sum.quarantinedMicroVnd;
    if (total !== expected) {
      problems.push(`${accountId}: ${total} in the hold store, ${expected} in the ledger`);
    }
    return problems;
  }
}
