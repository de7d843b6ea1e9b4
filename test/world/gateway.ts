import type { CallerKey } from "../../core/accounts/account.ts";
import { BodyBudget } from "../../core/body/receive.ts";
import { endpoints } from "../../core/catalogue/endpoint.ts";
import { Cors } from "../../core/http/cors.ts";
import type { HttpCall } from "../../core/http/http-call.ts";
import { HttpCallsInFlight } from "../../core/http/in-flight.ts";
import { Incoming } from "../../core/http/incoming.ts";
import { Pipeline } from "../../core/http/pipeline.ts";
import type { Runtime } from "../../core/http/runtime.ts";
import { UnreadReplies } from "../../core/http/unread-replies.ts";
import { Backlog } from "../../core/money/backlog.ts";
import { Committer } from "../../core/money/committer.ts";
import type { HoldStore } from "../../core/money/hold-store.ts";
import { Pace } from "../../core/money/pace.ts";
import { stopMoney } from "../../core/money/stop.ts";
import { createStoredWallets, type StoredWallets } from "../../core/money/stored-wallets.ts";
import type { Limits } from "../../core/plugin/config.ts";
import { Router } from "../../core/plugin/router.ts";
import type { Services } from "../../core/plugin/services.ts";
import { TrustedProxies } from "../../core/process/client-address.ts";
import type { Log } from "../../core/process/log.ts";
import { wires } from "../../core/wire/wires.ts";
import meter from "../../plugins/meter/index.ts";
import settle from "../../plugins/settle/index.ts";
import type { SimulatedClient } from "./client.ts";
import { knownCaller, SimulatedKeys } from "./keys.ts";
import type { LedgerServer } from "./ledger-server.ts";
import { modelIdOf } from "./model.ts";
import type { SimulatedProcess } from "./process.ts";
import type { SimulatedProvider } from "./provider.ts";
import { SimulatedUpstreams } from "./upstreams.ts";

const LIMITS: Limits = {
  bodyBytesMax: 1_000_000,
  bodiesBytesMax: 100_000_000,
  headerBytesMax: 65_536,
  keyCacheBytesMax: 1_000_000,
  replyBytesMax: 10_000_000,
  unreadBytesMax: 100_000_000,
  callsMax: 10_000,
  leftCallsMax: 20,
  callMs: 600_000,
  connectMs: 10_000,
  firstByteMs: 600_000,
  idleMs: 600_000,
  heartbeatMs: Number.POSITIVE_INFINITY,
  drainMs: 10_000,
  handoverMs: 0,
  clockDifferenceMs: 0,
};
/** A prompt whose bound is above the output of every planned call. */
const PROMPT = "hello ".repeat(20);
const STOP_POLL_MS = 50;
const SLICE_TOKENS = 16;
/** A disk refuses posts if it did so within this time. */
const REFUSED_MS = 3_000;

interface GatewayOptions {
  readonly process: SimulatedProcess;
  readonly ledger: LedgerServer;
  readonly holdStore: (log: Log) => HoldStore;
  readonly outboxEntriesMax: number;
  readonly provider: SimulatedProvider;
  readonly whenExhausted: "cut" | "finish";
  /** True if keys are revoked in this world. */
  readonly revokes: boolean;
  readonly log: Log;
}

/** The real code of a gateway, from the request to the ledger, on a simulated machine. Boots like `core/boot`. */
export class SimulatedGateway {
  readonly process: SimulatedProcess;
  readonly holdStore: HoldStore;
  readonly wallets: StoredWallets;
  /** The keys; undefined if no key is ever revoked. */
  readonly keys: SimulatedKeys | undefined;
  private readonly committer: Committer;
  private readonly pace: Pace;
  private readonly runtime: Runtime;
  private readonly inFlight = new HttpCallsInFlight();
  private readonly log: Log;
  /** When the hold store took a call that it could not keep at first. */
  readonly keptLateMs = new Map<string, number>();
  /** Calls that only its memory had when it was killed or had stopped, because its disk refused them. */
  readonly refusedByDisk = new Set<string>();
  private hasStopped = false;
  private isListening = false;
  /** When `saysLedgerWentBack` became true. */
  wentBackSinceMs: number | undefined;
  private readonly ledgerOfProcess: ReturnType<LedgerServer["for"]>;

  constructor(options: GatewayOptions) {
    const { process, log } = options;
    const ledger = options.ledger.for(process);
    this.process = process;
    this.log = log;
    this.ledgerOfProcess = ledger;
    const holdStore = options.holdStore(log);
    this.holdStore = holdStore;
    // Only late posts come one by one.
    const post = holdStore.post.bind(holdStore);
    holdStore.post = (posting) => {
      const posted = post(posting);
      this.keptLateMs.set(posting.callId, process.monotonic());
      return posted;
    };
    const machine = process;
    const stores = { holdStore, ledger, machine };
    const backlog = new Backlog({ holdStore, entriesMax: options.outboxEntriesMax, machine });
    this.committer = new Committer({ ...stores, log, backlog, batchEntries: 20, lingerMs: 250 });
    this.pace = new Pace({ backlog, log, machine });
    this.wallets = createStoredWallets(stores);
    this.keys = options.revokes
      ? new SimulatedKeys({ process, ledger: options.ledger, holdStore })
      : undefined;
    const services = {
      wallets: { current: this.wallets },
      keys: {
        refused: async (key: CallerKey) => this.keys?.refused(key),
        renew: async (key: CallerKey) => key,
      },
      clock: machine,
      config: { headers: { prefix: "x-" }, listen: { host: "127.0.0.1", port: 1 } },
      log,
      ledger,
      wires,
      callsInFlight: this.inFlight,
      upstreams: { get: () => undefined, all: () => [], hidesReasoning: () => false },
      customers: { current: { publicUrl: undefined } },
    } as unknown as Services;
    const pipeline = new Pipeline([
      knownCaller(this.keys),
      meter(services, { hold: { ...FACTORS, ascii_bytes_per_token: 3 }, estimate: FACTORS }),
      settle(services, {
        slice_tokens: SLICE_TOKENS,
        when_exhausted: options.whenExhausted,
        when_client_leaves: "cancel",
        linger_seconds: 2,
        linger_reasoning_seconds: 60,
        topup_address: undefined,
      }),
      this.pace,
    ]);
    const upstreams = new SimulatedUpstreams(options.provider, LIMITS, machine, log);
    const router = new Router();
    const required = ["key", "model", "upstream", "usage", "hold"] as const;
    const [limits, clock, operatorRouter] = [LIMITS, machine, undefined];
    const bodies = new BodyBudget({ bodiesBytesMax: 1e8, bodyBytesMax: 1e6, callsMax: 1e4 }, clock);
    const unread = new UnreadReplies(LIMITS.unreadBytesMax, log);
    const served = { pipeline, router, operatorRouter, upstreams };
    const origins = { proxies: new TrustedProxies([]), cors: new Cors([]) };
    this.runtime = { ...served, ...origins, clock, log, limits, bodies, unread, required };
  }

  get listening(): boolean {
    return this.isListening && this.process.alive;
  }

  get saysLedgerWentBack(): boolean {
    return this.listening && this.holdStore.ledgerWentBack();
  }

  /** Notes since when it says that the ledger went back. Called at every look of the judge. */
  noteLedger(): void {
    if (!this.saysLedgerWentBack) this.wentBackSinceMs = undefined;
    else this.wentBackSinceMs ??= this.process.monotonic();
  }

  get callsInFlight(): number {
    return this.inFlight.size;
  }

  async start(): Promise<void> {
    await this.ledgerOfProcess.start();
    this.committer.start();
    await this.holdStore.start();
    await this.wallets.start();
    this.keys?.start();
    this.isListening = true;
  }

  /** Accepts a request, as the HTTP server does. */
  serve(client: SimulatedClient): void {
    const body = Buffer.from(JSON.stringify(bodyOf(client)));
    const endpoint = endpoints.find(({ protocol }) => protocol === "chat");
    if (!endpoint) throw new Error("there is no chat endpoint");
    const over = (call: HttpCall) => this.inFlight.delete(call);
    const headers = {
      "content-length": String(body.length),
      "x-sim-account": client.plan.accountId,
      "x-sim-key": client.plan.keyId,
      "x-sim-purses": JSON.stringify(client.plan.purses),
    };
    const arrived = { res: client.response(body), headers, requestId: client.callId };
    const incoming = new Incoming(arrived, this.runtime, endpoint, over, this.inFlight);
    this.inFlight.add(incoming.call);
    incoming.start();
  }

  /** Handles SIGTERM: lets calls finish for a while, then stops as `core/boot` does. */
  async stop(): Promise<void> {
    this.isListening = false;
    const { process } = this;
    await this.pace.stop();
    const deadlineMs = process.monotonic() + LIMITS.drainMs;
    while (this.inFlight.size > 0 && process.monotonic() < deadlineMs) {
      await new Promise<void>((resolve) => process.after(STOP_POLL_MS, resolve));
    }
    const { wallets, committer, holdStore, log } = this;
    const lost = await stopMoney({ wallets, committer, holdStore, log });
    this.hasStopped = true;
    if (this.isDiskRefusing()) for (const { callId } of lost) this.refusedByDisk.add(callId);
  }

  /** Kills the process, as kill -9 does. */
  kill(): void {
    if (this.process.alive && !this.hasStopped && this.isDiskRefusing()) {
      for (const { callId } of this.wallets.latePostsLeft()) this.refusedByDisk.add(callId);
    }
    this.process.kill();
  }

  /** Returns true if the disk refused something lately: each second, the journal and its late posts try it again. */
  private isDiskRefusing(): boolean {
    const { process } = this;
    const sinceMs = process.monotonic() - REFUSED_MS;
    const wasFrozen = process.frozen || process.runsFrom(sinceMs) !== sinceMs;
    return wasFrozen || process.disk.refusedMs >= sinceMs;
  }
}

const FACTORS = {
  ascii_bytes_per_token: 4.2,
  other_bytes_per_token: 2.4,
  image_tokens: 1200,
  document_bytes_per_token: 40,
  density_share: 0.4,
  overhead_share: 0,
};

function bodyOf({ plan }: SimulatedClient) {
  return {
    model: modelIdOf(plan),
    user: plan.number,
    messages: [{ role: "user", content: PROMPT }],
    stream: plan.stream,
    max_tokens: plan.maxTokens,
  };
}
