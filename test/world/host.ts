import type { HoldStore } from "../../core/money/hold-store.ts";
import type { Log } from "../../core/process/log.ts";
import type { Random } from "../support/random.ts";
import { SimulatedDisk } from "./disk.ts";
import { SimulatedGateway } from "./gateway.ts";
import type { LedgerServer } from "./ledger-server.ts";
import { type LoopStopped, SimulatedProcess } from "./process.ts";
import type { SimulatedProvider } from "./provider.ts";
import type { Scheduler } from "./scheduler.ts";
import { NewerDisk, type Version } from "./versions.ts";

interface HostOptions {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly ledger: LedgerServer;
  readonly holdStoreOf: (process: SimulatedProcess, log: Log) => HoldStore;
  readonly providerOf: (process: SimulatedProcess) => SimulatedProvider;
  readonly whenExhausted: "cut" | "finish";
  readonly revokes: boolean;
  readonly outboxEntriesMax: number;
  readonly log: Log;
  readonly onStopped: (error: LoopStopped) => void;
}

/** Delay before a failed start is retried. */
const RESTART_MS = 500;

/** A machine with its disk, and the gateway on it. After a kill or a stop, the next process starts. */
export class Host {
  readonly name: string;
  readonly disk: SimulatedDisk;
  /** The version that the next process runs. */
  version: Version = "this";
  private current: SimulatedGateway | undefined;
  /** Every process that started here, oldest first. */
  readonly starts: { readonly process: SimulatedProcess; readonly atMs: number }[] = [];
  private isWanted = false;

  constructor(private readonly options: HostOptions) {
    this.name = options.name;
    this.disk = new SimulatedDisk(options.random);
  }

  /** The running gateway, whether or not it accepts calls. */
  get gateway(): SimulatedGateway | undefined {
    return this.current?.process.alive ? this.current : undefined;
  }

  start(): void {
    this.isWanted = true;
    if (this.gateway) return;
    const { scheduler, random, onStopped, ledger, log } = this.options;
    const { whenExhausted, outboxEntriesMax, revokes } = this.options;
    const name = `${this.name}.${this.starts.length + 1}`;
    const { version } = this;
    const process = new SimulatedProcess({ name, scheduler, random, onStopped, version });
    const isNewer = version === "newer";
    this.starts.push({ process, atMs: scheduler.nowMs });
    process.attach(isNewer ? new NewerDisk(this.disk, process) : this.disk.of(process));
    const gateway = new SimulatedGateway({
      process,
      ledger,
      log,
      whenExhausted,
      outboxEntriesMax,
      revokes,
      holdStore: (own) => this.options.holdStoreOf(process, own),
      provider: this.options.providerOf(process),
    });
    this.current = gateway;
    gateway.start().catch((error: unknown) => {
      if (!process.alive) return;
      scheduler.trace(`${name} did not start: ${String(error)}`);
      log.error({ err: error }, "a gateway did not start");
      gateway.kill();
      this.startLater(RESTART_MS);
    });
  }

  startLater(ms: number): void {
    this.isWanted = true;
    this.options.scheduler.after(ms, `${this.name} starts`, () => {
      if (this.isWanted) this.start();
    });
  }

  kill(): void {
    this.gateway?.kill();
  }

  /** Sends SIGTERM. The next process starts when this one has ended. */
  restart(): void {
    const { gateway } = this;
    if (!gateway) return this.startLater(0);
    gateway.stop().then(
      () => {
        if (!gateway.process.alive) return;
        gateway.kill();
        this.startLater(RESTART_MS);
      },
      (error: unknown) => {
        if (!gateway.process.alive) return;
        this.options.scheduler.trace(`${this.name} did not stop: ${String(error)}`);
        gateway.kill();
        this.startLater(RESTART_MS);
      },
    );
  }
}
