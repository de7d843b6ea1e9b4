import { atEndOfTurn } from "../process/turn.ts";

/** The part of `Cluster` of ioredis that is used here. */
export interface ClusterCommands {
  call(name: string, ...args: string[]): Promise<unknown>;
  /** The connections to its nodes. A stream is undefined, or null, until the first attempt to connect. */
  nodes(): readonly { readonly stream?: Corkable | null }[];
}

interface Corkable {
  cork(): void;
  uncork(): void;
}

interface Waiting {
  readonly name: string;
  readonly args: readonly string[];
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/**
 * Gathers the commands of one turn of the event loop into one write to each node of a cluster.
 *
 * ioredis sends each command by itself, and follows its redirections. Not in one of its pipelines (6.0.0): while nodes are
 * down, it may send some commands of a pipeline and fail others. Then it puts those into the queue of a connection and never
 * writes them, and from then on each command there gets the reply to another.
 */
export class ClusterBatch {
  private readonly cluster: ClusterCommands;
  private readonly flush = (): void => this.send();
  private waiting: Waiting[] = [];

  constructor(cluster: ClusterCommands) {
    this.cluster = cluster;
  }

  /** Sends a command at the end of this turn. */
  run(name: string, args: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) atEndOfTurn("send", this.flush);
      this.waiting.push({ name, args, resolve, reject });
    });
  }

  private send(): void {
    const { cluster, waiting } = this;
    this.waiting = [];
    const streams = waiting.length > 1 ? cluster.nodes().map(({ stream }) => stream) : [];
    for (const stream of streams) stream?.cork();
    try {
      for (const { name, args, resolve, reject } of waiting) {
        cluster.call(name, ...args).then(resolve, reject);
      }
    } finally {
      for (const stream of streams) stream?.uncork();
    }
  }
}
