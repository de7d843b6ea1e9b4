import { RedisAway, type RedisCommands } from "../../../../core/redis/client.ts";
import type { Script } from "../../../../core/redis/script.ts";
import type { RedisServer } from "../../../support/redis.ts";
import { sentOperations } from "./sent-operations.ts";
import { clientOf } from "./store.ts";

/** A client that finds the primary at the server that the test says. */
export class SwitchedClient implements RedisCommands {
  readonly isCluster = false;
  private readonly clients: ReadonlyMap<RedisServer, RedisCommands>;
  /** Every command goes to this server. Without one, Redis is unreachable. */
  primary: RedisServer | undefined;
  /** Every command waits for it. While it is pending, the process seems frozen. */
  thawed: Promise<void> = Promise.resolve();
  /** Operations of scripts that do not reach the server. */
  readonly unsent = new Set<string>();
  /** Operations of scripts whose reply does not come back. */
  readonly unheard = new Set<string>();
  /** Operations of scripts that are sent again, because the reply to the first was lost. */
  readonly twice = new Set<string>();
  /** Operations of scripts that reach the server when the test calls `arrive`, after their senders gave up. */
  readonly late = new Set<string>();
  private readonly underWay: (() => Promise<unknown>)[] = [];
  /** Runs as soon as an operation is sent, and before it finds its server. */
  readonly before = new Map<string, () => void>();
  /** Replies to `look`, of all buckets. */
  looks = 0;

  constructor(servers: readonly RedisServer[]) {
    this.clients = new Map(servers.map((server) => [server, clientOf(server.url)]));
    [this.primary] = servers;
  }

  async arrive(): Promise<void> {
    for (const command of this.underWay.splice(0)) await command();
  }

  connect(onReady: () => void): void {
    for (const client of this.clients.values()) client.connect(onReady);
  }

  disconnect(): void {
    for (const client of this.clients.values()) client.disconnect();
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send(args, (client) => client.evalsha(sha, keys, args));
  }

  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send(args, (client) => client.load(script, keys, args));
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send(args, (client) => client.run(script, keys, args));
  }

  call(name: string, ...args: string[]): Promise<unknown> {
    return this.send([], (client) => client.call(name, ...args));
  }

  private async send(
    args: readonly string[],
    command: (client: RedisCommands) => Promise<unknown>,
  ): Promise<unknown> {
    const names = [args[0] ?? "", ...sentOperations(args)];
    const isOneOf = (operations: ReadonlySet<string>) => names.some((name) => operations.has(name));
    await this.thawed;
    for (const name of names) this.before.get(name)?.();
    const client = this.primary && this.clients.get(this.primary);
    if (client === undefined || isOneOf(this.unsent)) throw new RedisAway("cut by the test");
    if (isOneOf(this.late)) {
      this.underWay.push(() => command(client));
      throw new RedisAway("cut by the test");
    }
    if (isOneOf(this.twice)) await command(client);
    const reply = await command(client);
    if (isOneOf(this.unheard)) throw new Error("the reply is lost");
    if (args[0] === "look") this.looks += 1;
    return reply;
  }
}
