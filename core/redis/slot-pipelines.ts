import { atEndOfTurn } from "../process/turn.ts";

/** The part of `Cluster` of ioredis that is used here. */
export interface ClusterCommands {
  call(name: string, ...args: string[]): Promise<unknown>;
  pipeline(commands: string[][]): {
    exec(): Promise<[error: Error | null, reply: unknown][] | null>;
  };
}

interface Waiting {
  readonly name: string;
  readonly args: readonly string[];
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** Errors of a command that its node did not run, because the slot is, or is about to be, at another node. */
const REDIRECTED = /^(?:MOVED|ASK|TRYAGAIN) /;

/**
 * Gathers the commands of one turn of the event loop into one pipeline per slot of a cluster.
 *
 * The automatic pipelines of ioredis 6.0.0 mix all slots of a node. It follows a redirection of a pipeline only if all
 * errors have the same text, and `MOVED 5868 …` is not `MOVED 9871 …`: after a planned fail-over no command to that
 * node succeeds again. In one slot all errors are the same, except while its keys move one by one: then those commands
 * are sent again one by one.
 */
export class SlotPipelines {
  private readonly cluster: ClusterCommands;
  private readonly flush = (): void => this.send();
  /** Waiting commands by hash tag, or by key if it has none. */
  private waiting = new Map<string, Waiting[]>();

  constructor(cluster: ClusterCommands) {
    this.cluster = cluster;
  }

  /** Sends a command at the end of this turn. `key` is one of its keys. */
  run(name: string, args: readonly string[], key: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.waiting.size === 0) atEndOfTurn("send", this.flush);
      const command = { name, args, resolve, reject };
      const tag = hashTag(key);
      const others = this.waiting.get(tag);
      if (others) others.push(command);
      else this.waiting.set(tag, [command]);
    });
  }

  private send(): void {
    const slots = this.waiting;
    this.waiting = new Map();
    for (const commands of slots.values()) {
      const [only] = commands;
      if (only && commands.length === 1) this.sendAlone(only);
      else void this.sendTogether(commands);
    }
  }

  /** ioredis follows the redirections of a single command. */
  private sendAlone({ name, args, resolve, reject }: Waiting): void {
    this.cluster.call(name, ...args).then(resolve, reject);
  }

  private async sendTogether(commands: readonly Waiting[]): Promise<void> {
    const pipeline = this.cluster.pipeline(commands.map(({ name, args }) => [name, ...args]));
    try {
      const results = (await pipeline.exec()) ?? [];
      for (const [at, command] of commands.entries()) {
        const [error, reply] = results[at] ?? [new Error("the pipeline returned no result")];
        if (!error) command.resolve(reply);
        else if (REDIRECTED.test(error.message)) this.sendAlone(command);
        else command.reject(error);
      }
    } catch (error) {
      for (const { reject } of commands) reject(error);
    }
  }
}

/** The part of a key that decides its slot. */
function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}
