import { createEmbeddedHoldStore } from "../../core/money/embedded/store.ts";
import type { Balances, HoldStore } from "../../core/money/hold-store.ts";
import { createRedisHoldStore } from "../../core/money/redis/store.ts";
import type { Log } from "../../core/process/log.ts";
import { Random } from "../support/random.ts";
import { AccountLoad } from "./account-load.ts";
import type { CallPlan } from "./call-plan.ts";
import { faults, heal } from "./faults.ts";
import type { SimulatedGateway } from "./gateway.ts";
import { Host } from "./host.ts";
import { Judge } from "./judge.ts";
import { LedgerServer } from "./ledger-server.ts";
import { Load } from "./load.ts";
import { TOKEN_MICRO_VND } from "./model.ts";
import { Operator } from "./operator.ts";
import { Probe } from "./probe.ts";
import type { SimulatedProcess } from "./process.ts";
import { SimulatedProvider } from "./provider.ts";
import type { LuaScripts } from "./redis/lua.ts";
import { PREFIX, RedisSite } from "./redis/site.ts";
import { Scheduler } from "./scheduler.ts";
import { OtherCommands } from "./versions.ts";
import type { WorldPlan } from "./world-plan.ts";

/** Fewer joining rounds than in production: these rounds are most of the cost of a run, and fewer find as many bugs. */
const TIMES = { heartbeatMs: 1_000, joiningRoundMs: 45 };
const SOON_IDLE = { walletIdleMs: 600, idleLookMs: 250, closePauseMs: 1_000 };
/** Time between two checks by the judge. */
const LOOK_MS = 500;
const BACKUP_MS = 700;
/** Time in which everything must drain once all faults are over. */
const DRAIN_MS_MAX = 120_000;

export interface WorldResult {
  readonly violations: readonly string[];
  readonly hash: string;
  readonly turns: number;
  readonly simulatedMs: number;
  readonly calls: Record<string, number>;
  readonly charged: number;
}

interface WorldOptions {
  readonly onTrace?: ((line: string) => void) | undefined;
  readonly log: Log;
  readonly lua: LuaScripts;
  /** Ends the run then, if it is still under load and nothing is broken. */
  readonly untilMs?: number | undefined;
}

/** One run of a plan. */
export class World {
  readonly scheduler: Scheduler;
  readonly ledger: LedgerServer;
  readonly hosts: Host[] = [];
  readonly accounts: string[] = [];
  /** All purses that calls may have named: `<account>|<name>`. */
  readonly purseNames = new Set<string>();
  readonly callPlans = new Map<string, CallPlan>();
  readonly judge: Judge;
  /** The simulated Redis; undefined with the embedded hold store. */
  readonly redis: RedisSite | undefined;
  readonly operatorRandom: Random;
  readonly accountLoad: AccountLoad;
  /** True once all faults are over and every host runs the newer version. */
  isUpgraded = false;
  private readonly random: Random;
  private readonly ids: Random;
  private readonly log: Log;
  private readonly untilMs: number;
  private readonly tokensServed = new Map<string, number>();
  /** True once all faults are over. */
  isHealed = false;

  constructor(
    readonly plan: WorldPlan,
    { onTrace, log, lua, untilMs = Infinity }: WorldOptions,
  ) {
    this.log = log;
    this.untilMs = untilMs;
    this.random = new Random(plan.seed);
    this.ids = this.fork();
    this.scheduler = new Scheduler(this.fork(), onTrace);
    this.ledger = new LedgerServer(this.scheduler, this.fork());
    this.judge = new Judge(this);
    // Has a seed of its own instead of a fork, so that worlds without this fault do not change.
    this.operatorRandom = new Random(plan.seed + 1);
    this.accountLoad = new AccountLoad(this, new Random(plan.seed + 2));
    if (plan.store !== "embedded") {
      const { scheduler, judge } = this;
      const onBelowZero = (what: string) => judge.violated(what);
      const onLost = (callIds: readonly string[]) => judge.lostInRedis(callIds);
      const { buckets, resends } = plan;
      const where = { scheduler, random: this.fork(), lua, buckets };
      const isCluster = plan.store === "cluster";
      this.redis = new RedisSite({ ...where, isCluster, resends, onBelowZero, onLost });
    }
    for (let at = 1; at <= plan.gateways; at += 1) this.hosts.push(this.newHost(`g${at}`));
    for (let at = 1; at <= plan.accounts; at += 1) this.addAccount(`a${at}`);
  }

  /** The running gateways. */
  get gateways(): SimulatedGateway[] {
    return this.hosts.flatMap(({ gateway }) => gateway ?? []);
  }

  async run(): Promise<WorldResult> {
    const { plan, scheduler } = this;
    const load = new Load(this, this.fork());
    const probe = new Probe(this, load);
    for (const host of this.hosts) host.start();
    load.begin();
    if (plan.faults.has("ledgerRestored")) {
      new Operator(this).begin();
      this.keepBackups();
    }
    this.planFaults();
    scheduler.after(plan.loadMs, "heal", () => {
      this.isHealed = true;
      heal(this);
      probe.begin();
    });
    let violations: string[] = [];
    let isOver = false;
    const look = () => {
      this.judge.look();
      const { broken } = this.judge;
      const isUnderLoad = !this.isHealed && scheduler.nowMs < this.untilMs;
      if (isUnderLoad && broken.length === 0) return void scheduler.after(LOOK_MS, "look", look);
      violations = this.isHealed ? [...this.judge.problems(), ...probe.problems()] : broken;
      const isLate = scheduler.nowMs > plan.loadMs + DRAIN_MS_MAX;
      isOver = violations.length === 0 || isLate || broken.length > 0;
      if (!isOver) scheduler.after(LOOK_MS, "look", look);
    };
    scheduler.after(LOOK_MS, "look", look);
    await scheduler.run(() => isOver);
    for (const host of this.hosts) host.kill();
    return {
      violations,
      hash: scheduler.hash,
      turns: scheduler.turns,
      simulatedMs: scheduler.nowMs,
      calls: this.judge.counts,
      charged: this.ledger.books.charges.size,
    };
  }

  private keepBackups(): void {
    if (this.isHealed) return;
    this.ledger.keepBackup();
    this.scheduler.after(BACKUP_MS, "backup", () => this.keepBackups());
  }

  /** Adds a fault to the trace. */
  note(what: string): void {
    this.scheduler.trace(`fault: ${what}`);
  }

  newId(): string {
    const digits = this.ids.bytes(16).toString("hex");
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
  }

  fork(): Random {
    return new Random(this.random.below(2 ** 32));
  }

  /** Output tokens that the provider produced for a call. */
  servedTokens({ number, outputTokens }: CallPlan): number {
    return this.tokensServed.get(number) ?? outputTokens;
  }

  /** Returns the balances of a wallet, or of a purse, in the hold store; undefined if it is not loaded. */
  balancesOf(accountId: string, purse?: string): Balances | undefined {
    if (this.redis) return this.redis.balancesOf(accountId, purse);
    const found = this.gateways[0]?.holdStore?.balances(accountId, purse);
    return found instanceof Promise ? undefined : found;
  }

  private newHost(name: string): Host {
    const { scheduler, ledger, log } = this;
    return new Host({
      name,
      scheduler,
      random: this.fork(),
      ledger,
      holdStoreOf: (process, own) => this.newHoldStore(process, own),
      providerOf: (process) =>
        new SimulatedProvider(this.callPlans, process, (number, tokens) =>
          this.tokensServed.set(number, tokens),
        ),
      whenExhausted: this.plan.whenExhausted,
      revokes: this.plan.faults.has("keyRevoked"),
      outboxEntriesMax: this.plan.outboxEntriesMax,
      log,
      onStopped: (error) => this.judge.violated(error.message),
    });
  }

  private newHoldStore(process: SimulatedProcess, log: Log): HoldStore {
    const { outboxEntriesMax, buckets, leaseMs, closesWallets } = this.plan;
    const idle = closesWallets ? SOON_IDLE : undefined;
    if (this.redis) {
      const { version } = process;
      const client = this.redis.clientOf(process);
      return createRedisHoldStore({
        client: version === "this" ? client : new OtherCommands(client, version),
        prefix: PREFIX,
        buckets,
        spool: { folder: "/data/spool", bytesMax: 1_000_000, log },
        outboxEntriesMax,
        times: { ...TIMES, ...idle, leaseMs },
        ledger: this.ledger.for(process),
        machine: process,
        log,
      });
    }
    this.ledger.lock(process);
    const journal = {
      folder: "/data/journal",
      bytesMax: 1_000_000,
      segmentBytes: 8_000,
      sync: false,
    };
    return createEmbeddedHoldStore({
      journal: { ...journal, log, machine: process },
      outboxEntriesMax,
      history: this.ledger.for(process).history,
      ...(idle && { times: idle }),
    });
  }

  private addAccount(accountId: string): void {
    const { books } = this.ledger;
    books.addAccount(accountId);
    this.accounts.push(accountId);
    const tokens = 1 + this.random.below(this.plan.walletTokens);
    const amountMicroVnd = BigInt(tokens * TOKEN_MICRO_VND);
    const reference = `first of ${accountId}`;
    books.credit({ accountId, amountMicroVnd, reference, kind: "topup", reason: null });
  }

  private planFaults(): void {
    for (const [name, everyMs] of this.plan.faults) {
      const random = this.fork();
      const again = () => {
        const ms = everyMs * (0.5 + random.fraction());
        this.scheduler.after(ms, `fault ${name}`, () => {
          if (this.isHealed) return;
          faults[name]?.(this, random);
          again();
        });
      };
      again();
    }
  }
}
