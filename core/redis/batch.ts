import { Command, type Redis } from "ioredis";
import { atEndOfTurn } from "../process/turn.ts";

const UTF8 = { replyEncoding: "utf8" } as const;

/**
 * Gathers the commands of one turn of the event loop into one write. It is to ioredis what its own pipelines
 * are, a place to write to, without their four promises and two callbacks a command, and without waiting for the
 * answers to one batch before sending the next.
 *
 * Answers come in the order in which commands were written, so once the connection is ready every command must
 * take this way: one that was written past it would be given another one's answer.
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

  /** Sends a command whose arguments are all strings, at the end of this turn. */
  run(name: string, args: string[]): Promise<unknown> {
    // The constructor copies its arguments twice, which costs more than all the rest of it.
    const command = new Command(name, [], UTF8);
    command.args = args;
    this.redis.sendCommand(command, this);
    return command.promise;
  }

  /** Called by ioredis with a command that it has put into its queue of those that await an answer. */
  write(text: string | Buffer): void {
    if (this.stream === undefined) atEndOfTurn("send", this.flush);
    // Commands for a connection that is no more were rejected with it.
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
