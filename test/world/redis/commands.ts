import { isUnknownScript, type RedisCommands } from "../../../core/redis/client.ts";
import type { Script } from "../../../core/redis/script.ts";

/** The commands of a client, as `RedisClient` builds them. */
export abstract class SimulatedCommands implements RedisCommands {
  abstract readonly isCluster: boolean;
  abstract connect(onReady: () => void): void;
  abstract disconnect(): void;

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVALSHA", [sha, String(keys.length), ...keys, ...args], keys[0]);
  }

  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVAL", [script.source, String(keys.length), ...keys, ...args], keys[0]);
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.evalsha(script.sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await this.load(script, keys, args);
    }
  }

  call(name: string, ...args: string[]): Promise<unknown> {
    return this.send(name, args, args[0]);
  }

  /** `key`: one of its keys, if it has any. */
  protected abstract send(
    name: string,
    args: readonly string[],
    key: string | undefined,
  ): Promise<unknown>;
}
