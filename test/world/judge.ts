import type { OutboxEntry } from "../../core/contract/hold-store.ts";
import type { SimulatedClient } from "./client.ts";
import { type SimulatedGateway, TOKEN_MICRO_VND } from "./gateway.ts";
import type { Host } from "./host.ts";
import type { World } from "./world.ts";

/** A journal that is not synced at each write is on the disk after so long. */
const JOURNAL_SYNCED_MS = 1_050;
/** More than any estimate of the input of these calls comes to. */
const INPUT_TOKENS_MAX = 60;
/** An estimate of output, as a share of what it was. */
const ESTIMATE_SHARE_MAX = 1.25;

interface CallRecord {
  readonly client: SimulatedClient;
  readonly gateway: SimulatedGateway;
}

/** Knows every call and what its client has received; says at the end what is wrong with the books. */
export class Judge {
  private readonly world: World;
  private readonly records: CallRecord[] = [];
  private readonly powerLosses: { readonly host: Host; readonly atMs: number }[] = [];
  private readonly forgotten = new Set<string>();
  /** What must never happen, even for a moment. */
  readonly broken: string[] = [];

  constructor(world: World) {
    this.world = world;
  }

  called(client: SimulatedClient, gateway: SimulatedGateway): void {
    this.records.push({ client, gateway });
  }

  /** A violation of what holds at every instant. */
  violated(what: string): void {
    if (this.broken.length < 20 && !this.broken.includes(what)) this.broken.push(what);
  }

  /** Redis has forgotten these posts. */
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

  /** What is not as it must be once every fault is over and everything had time to drain. */
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

  /** Where no fault takes a hold away, only the chunk at which a stream is cut is more than was held. */
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
    // The client of a gateway that dies sees a cut connection; what had reached it by then is free.
    if (!isWhole && !gateway.process.alive) return undefined;
    if (this.lostPowerAfter(client, gateway)) return undefined;
    // "Redis loses its data and a gateway dies before Postgres has what it posted".
    if (this.forgotten.has(client.callId) && !gateway.process.alive) return undefined;
    const what = isWhole ? "was received whole" : `delivered ${client.deliveredTokens} tokens`;
    return `${name} ${what} (${client.end}) and is not charged`;
  }

  /** `journal: sync false`: what was posted within the last second before the power went, or before a freeze. */
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
