import type { Movement, OutboxEntry, StoredEntry } from "../../core/money/outbox-entry.ts";
import type { SimulatedClient } from "./client.ts";
import type { SimulatedGateway } from "./gateway.ts";
import type { Host } from "./host.ts";
import { Leases } from "./leases.ts";
import { tokenMicroVnd } from "./model.ts";
import { PostsInHand } from "./posts-in-hand.ts";
import type { SimulatedProcess } from "./process.ts";
import { Revocations } from "./revocations.ts";
import { decodedByNewer } from "./versions.ts";
import { walletProblems } from "./wallet-judge.ts";
import type { World } from "./world.ts";

/** A journal that is not synced at each write is synced within this time. */
const JOURNAL_SYNCED_MS = 1_050;
/** A process opens its journal within this time. */
const START_MS = 100;
/** A gateway posts a call within this time after its client has left. */
const CLOSED_MS = 300;
/** Upper bound of the estimated input of a call. */
const INPUT_TOKENS_MAX = 60;
/** A gateway notices within this time that the ledger went back: an outage of up to 3 s, and two rounds. */
const NOTICED_MS = 8_000;
/** The same limit if other faults can delay it: a gateway may be frozen, and the ledger unreachable. */
const LATE_NOTICED_MS = 60_000;
/** Maximum time between two notes whether a gateway says that the ledger went back. */
const ASKED_MS = 500;
/** Maximum time from a slow ledger's work to the arrival of its reply. */
const LEDGER_SLOW_MS_MAX = 1_500;
/** Upper bound of estimated output, as a share of the real output. */
const ESTIMATE_SHARE_MAX = 1.25;

/** Returns an entry that only the newer version can read, as it reads it. Undefined for any other entry. */
function unreadUntilUpgrade(parked: StoredEntry): OutboxEntry | undefined {
  const entry = parked.posting === undefined ? decodedByNewer(parked) : parked;
  return parked.posting === undefined && entry.posting !== undefined ? entry : undefined;
}

interface CallRecord {
  readonly client: SimulatedClient;
  readonly gateway: SimulatedGateway;
  /** When the gateway of the call began to say that the ledger went back; undefined if it did not. */
  readonly wentBackSinceMs: number | undefined;
}

/** Records every call and what its client received. At the end it compares them with the books. */
export class Judge {
  private readonly records: CallRecord[] = [];
  private readonly powerLosses: { readonly host: Host; readonly atMs: number }[] = [];
  private hasRedisLost = false;
  private readonly forgotten = new Set<string>();
  private readonly restoredWithout = new Set<string>();
  private readonly ledgerRestoresMs: number[] = [];
  private readonly revocations: Revocations;
  private readonly inHand: PostsInHand;
  private readonly leases: Leases;
  /** Violations of the rules that hold at every instant. */
  readonly broken: string[] = [];

  constructor(private readonly world: World) {
    this.revocations = new Revocations(world);
    this.inHand = new PostsInHand(world);
    this.leases = new Leases(world);
  }

  /** Checks what holds at every moment. Called each `LOOK_MS`. */
  look(): void {
    for (const gateway of this.world.gateways) gateway.noteLedger();
    const problems = [this.inHand.problem(), this.leases.problem()];
    for (const problem of problems) if (problem) this.violated(problem);
  }

  called(client: SimulatedClient, gateway: SimulatedGateway): void {
    gateway.noteLedger();
    const { wentBackSinceMs } = gateway;
    this.records.push({ client, gateway, wentBackSinceMs });
  }

  /** An operator heard that a movement is done. */
  confirmed({ reference }: Movement): void {
    if (!this.world.ledger.books.movements.has(reference))
      this.violated(`movement ${reference} was confirmed, and the ledger does not have it`);
  }

  /** Records a violation. */
  violated(what: string): void {
    if (this.broken.length < 20 && !this.broken.includes(what)) this.broken.push(what);
  }

  /** Records that `process` has revoked a key, and that its operator knows. */
  revoked(keyId: string, process: SimulatedProcess): void {
    this.revocations.add(keyId, process);
  }

  /** Records that Redis lost data, with the posts that it lost. */
  lostInRedis(callIds: readonly string[]): void {
    this.revocations.lostByRedis();
    this.inHand.lost(callIds, (callId) => this.startedMs(callId));
    this.hasRedisLost = true;
    for (const callId of callIds) this.forgotten.add(callId);
  }

  private startedMs(callId: string): number {
    return this.records.find(({ client }) => client.callId === callId)?.client.startedMs ?? 0;
  }

  /** Records calls that the ledger lost: it was restored from a backup without them. */
  lostByLedger(callIds: readonly string[]): void {
    this.revocations.lostByLedger();
    for (const callId of callIds) this.restoredWithout.add(callId);
    this.ledgerRestoresMs.push(this.world.scheduler.nowMs);
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
      const name = `call ${record.client.plan.number} (${record.client.callId.slice(0, 8)})`;
      const sold = this.revocations.problem(record.client, name);
      if (sold) problems.push(sold);
      const problem = this.callProblem(record, name);
      if (problem) problems.push(problem);
    }
    for (const { name, gateway } of this.world.hosts) {
      const backlog = gateway?.holdStore.uncommittedCalls() ?? 0;
      if (backlog > 0) problems.push(`${name} has ${backlog} uncommitted calls`);
    }
    const { ledger, plan } = this.world;
    if (plan.faults.size === 1 && ledger.acceptedMs.length > this.ledgerRestoresMs.length) {
      problems.push(
        `the operator accepted ${ledger.acceptedMs.length} losses, and there were ${this.ledgerRestoresMs.length}`,
      );
    }
    problems.push(...this.entryProblems());
    for (const accountId of this.world.accounts)
      problems.push(...walletProblems(this.world, accountId));
    return problems;
  }

  /** Checks that every entry belongs to one call, is in the ledger once, and has left the hold store. */
  private entryProblems(): string[] {
    const { charges, quarantine } = this.world.ledger.books;
    const problems: string[] = [];
    const known = new Set(this.records.map(({ client }) => client.callId));
    const parked = [...quarantine].filter(([, { entry }]) => !("debit" in decodedByNewer(entry)));
    for (const callId of [...charges.keys(), ...parked.map(([callId]) => callId)]) {
      if (!known.has(callId)) problems.push(`the ledger has an entry of no call: ${callId}`);
    }
    for (const callId of quarantine.keys()) {
      if (charges.has(callId)) problems.push(`call ${callId} is charged, and in quarantine too`);
    }
    const left = this.world.redis?.streamEntries ?? 0;
    if (left > 0) problems.push(`${left} entries are left in outboxes of Redis`);
    return problems;
  }

  private callProblem(
    { client, gateway, wentBackSinceMs }: CallRecord,
    name: string,
  ): string | undefined {
    const { plan, callId } = client;
    if (client.end === undefined) return `${name} never ends`;
    if (client.deliveredTokens > 0 && !this.wasOpened(wentBackSinceMs, client.endedMs)) {
      return `${name} was sold by a gateway that had noticed that the ledger went back`;
    }
    const { books } = this.world.ledger;
    const parked = books.quarantine.get(callId)?.entry;
    // After a rollback, entries of the newer version stay in quarantine until the next upgrade.
    const rest = parked && !this.world.isUpgraded ? unreadUntilUpgrade(parked) : undefined;
    if (parked && !rest) {
      // A lost post that an old snapshot of Redis brings back: the wallet may have been spent without it.
      const isBack = this.wasLost(callId, gateway);
      return isBack || this.soldOnLostMoney(client) ? undefined : `${name} is in quarantine`;
    }
    const entry = rest ?? books.charges.get(callId);
    if (entry === undefined) return this.uncharged(client, gateway, name);
    const { costMicroVnd, outcome } = entry.posting;
    if (entry.chargedMicroVnd + entry.writtenOffMicroVnd !== costMicroVnd) {
      return `${name}: charged and written off are not its cost`;
    }
    const tokens = this.world.servedTokens(plan);
    if (client.end === "whole" && plan.reportsUsage) {
      const due = (plan.inputTokens + tokens) * tokenMicroVnd(plan);
      if (costMicroVnd !== due) return `${name} cost ${costMicroVnd}, and is charged ${due}`;
    }
    const isFree = outcome === "refused" || this.mustTakeBack(gateway);
    if (client.end === "refused" && isFree && costMicroVnd > 0) {
      return `${name} was refused, and is charged ${costMicroVnd}`;
    }
    const mostTokens = INPUT_TOKENS_MAX + Math.ceil(tokens * ESTIMATE_SHARE_MAX);
    const most = mostTokens * tokenMicroVnd(plan);
    if (costMicroVnd > most) return `${name} is charged ${costMicroVnd}, more than ${most}`;
    return this.freeOutput(entry, client, name);
  }

  /**
   * Returns true if a gateway must take back a post without a reply, after it refused the call. Otherwise it may have died
   * before that, or Redis may have lost that it did.
   */
  private mustTakeBack({ process }: SimulatedGateway): boolean {
    return process.alive && !this.hasRedisLost;
  }

  /** Checks what was written off. Without faults, only the chunk at which a stream was cut may exceed the hold, or an estimate. */
  private freeOutput(
    { writtenOffMicroVnd }: OutboxEntry,
    { plan }: SimulatedClient,
    name: string,
  ): string | undefined {
    const { plan: world } = this.world;
    if (world.faults.size > 0 || world.whenExhausted === "finish") return undefined;
    const chunk = plan.stream ? Math.ceil(plan.tokensPerChunk * ESTIMATE_SHARE_MAX) : 0;
    // An estimate may be above the maximum of tokens that the call asked for, which its hold covers.
    const isEstimated = !plan.reportsUsage || Number.isFinite(plan.breaksAfterTokens);
    const above = isEstimated ? Math.ceil(plan.outputTokens * (ESTIMATE_SHARE_MAX - 1)) : 0;
    if (writtenOffMicroVnd <= (chunk + above) * tokenMicroVnd(plan)) return undefined;
    return `${name}: ${writtenOffMicroVnd} µđ are written off`;
  }

  private uncharged(
    client: SimulatedClient,
    gateway: SimulatedGateway,
    name: string,
  ): string | undefined {
    const isWhole = client.end === "whole";
    if (!isWhole && client.deliveredTokens === 0) return undefined;
    // A gateway died during the reply: what its client received by then is free.
    const endsMs = gateway.process.runsFrom(client.endedMs) + CLOSED_MS;
    if (!isWhole && gateway.process.diedAtMs < endsMs) return undefined;
    if (!isWhole && gateway.refusedByDisk.has(client.callId)) return undefined;
    if (this.lostPowerAfter(client, gateway)) return undefined;
    if (this.wasLost(client.callId, gateway)) return undefined;
    // The operator's loss: the ledger had the call, and was restored from a backup without it.
    if (this.restoredWithout.has(client.callId)) return undefined;
    const what = isWhole ? "was received whole" : `delivered ${client.deliveredTokens} tokens`;
    return `${name} ${what} (${client.end}) and is not charged`;
  }

  /** README, limits of the guarantees: Redis loses its data, and a gateway dies before it commits its posts. */
  private wasLost(callId: string, gateway: SimulatedGateway): boolean {
    return this.forgotten.has(callId) && !gateway.process.alive;
  }

  /**
   * Returns true for a call that began before its gateway could notice that the ledger went back. Its wallet may have
   * had money that the ledger lost.
   */
  private soldOnLostMoney({ startedMs }: SimulatedClient): boolean {
    const { faults } = this.world.plan;
    const noticedMs = faults.size === 1 ? NOTICED_MS : LATE_NOTICED_MS;
    return startedMs < Math.max(...this.ledgerRestoresMs) + noticedMs;
  }

  /** Returns false if the gateway refused calls from `sinceMs` to `untilMs`, since no operator accepted the ledger's loss. */
  private wasOpened(sinceMs: number | undefined, untilMs: number): boolean {
    if (sinceMs === undefined) return true;
    // A gateway may also say it late, by a reply of the ledger from before the operator accepted its loss.
    const slowMs = this.world.plan.faults.has("ledgerSlow") ? LEDGER_SLOW_MS_MAX : 0;
    const fromMs = sinceMs - ASKED_MS - slowMs;
    return this.world.ledger.acceptedMs.some((atMs) => atMs >= fromMs && atMs <= untilMs);
  }

  /**
   * Returns true for posts that may be lost with `journal: sync: false`. Such a post is synced within a second by its
   * process, or by the next start; later while the disk fails. So it is lost if power fails within that time, or fails
   * before the next start after a kill or freeze within that time.
   */
  private lostPowerAfter(client: SimulatedClient, gateway: SimulatedGateway): boolean {
    if (this.world.plan.store !== "embedded") return false;
    const { process } = gateway;
    const endedMs = gateway.keptLateMs.get(client.callId) ?? client.endedMs;
    return this.powerLosses.some(({ host, atMs }) => {
      if (atMs <= endedMs - JOURNAL_SYNCED_MS) return false;
      const isSyncedBy = (runs: SimulatedProcess, sinceMs: number) => {
        const fromMs = host.disk.worksFrom(runs.runsFrom(sinceMs), JOURNAL_SYNCED_MS);
        return runs.ranFor(JOURNAL_SYNCED_MS, fromMs) && fromMs + JOURNAL_SYNCED_MS < atMs;
      };
      const later = host.starts.filter((start) => start.atMs > endedMs && start.atMs < atMs);
      return !(
        isSyncedBy(process, endedMs) ||
        later.some((start) => host.disk.worksFrom(start.atMs, START_MS) === start.atMs) ||
        later.some((start) => isSyncedBy(start.process, start.atMs))
      );
    });
  }
}
