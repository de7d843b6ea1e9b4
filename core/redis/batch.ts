import { Command, type Redis } from "ioredis";
import { atEndOfTurn } from "../process/turn.ts";

const UTF8 = { replyEncoding: "utf8" } as const;

/**
 * Gathers the commands of one turn of the event loop into one write. ioredis writes to it as to one
 * of its own pipelines. Those cost four promises and two callbacks per command, and wait for the
 * replies to one batch before they send the next.
 *
 * Replies come in the order of the commands. So once the connection is ready, every command must go
 * through here: a command written directly would get the reply of another one.
 */
export class Batch {
  readonly isPipeline = true;
  readonly destination: { readonly redis: Redis };
  private readonly redis: Redis;
  private readonly flush = (): void => this.send();
  private stream: Redis["stream"] | undefined;
  private text = "";

  constructor(redis: Redis) {
    this.redis = redis;
    this.destination = { redis };
  }

  /** Sends a command at the end of this turn. All arguments are strings. */
  run(name: string, args: string[]): Promise<unknown> {
    // Set `args` directly: the constructor copies its arguments twice, which costs more than all
    // the rest.
    const command = new Command(name, [], UTF8);
    command.args = args;
    this.redis.sendCommand(command, this);
    return command.promise;
  }

  /**
   * ioredis calls this with a command that it has put into its queue of commands without a reply.
   */
  write(text: string | Buffer): void {
    if (this.stream === undefined) atEndOfTurn("send", this.flush);
    // ioredis has rejected the commands of a lost connection: drop their text.
    if (this.stream !== this.redis.stream) this.text = "";
    this.stream = this.redis.stream;
    this.text += text.toString();
  }

  private send(): void {
    const { stream, text } = this;
    this.stream = undefined;
    this.text = "";
    if (stream === this.redis.stream) stream?.write(text);
  }
}
