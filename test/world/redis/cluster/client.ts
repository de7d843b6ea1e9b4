import { ClusterBatch, RedisAway } from "../../../../core/redis/client.ts";
import type { Random } from "../../../support/random.ts";
import type { SimulatedProcess } from "../../process.ts";
import type { Scheduler } from "../../scheduler.ts";
import { SimulatedCommands } from "../commands.ts";
import type { Cluster } from "./cluster.ts";
import { SimulatedIoredis } from "./ioredis.ts";

interface ClusterClientOptions {
  readonly cluster: Cluster;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** A client of a cluster: the real batches of `core/redis` over a simulated ioredis. */
export class SimulatedClusterClient extends SimulatedCommands {
  override readonly isCluster = true;
  private readonly process: SimulatedProcess;
  private readonly ioredis: SimulatedIoredis;
  private readonly batch: ClusterBatch;

  constructor(options: ClusterClientOptions) {
    super();
    this.process = options.process;
    this.ioredis = new SimulatedIoredis(options);
    this.batch = new ClusterBatch(this.ioredis);
  }

  override connect(onReady: () => void): void {
    this.ioredis.connect(onReady);
  }

  override disconnect(): void {
    this.ioredis.disconnect();
  }

  protected override send(name: string, args: readonly string[]): Promise<unknown> {
    const { status } = this.ioredis;
    if (status !== "ready") return Promise.reject(new RedisAway(status));
    if (!this.process.alive) return new Promise(() => {});
    return this.batch.run(name.toLowerCase(), args);
  }
}
