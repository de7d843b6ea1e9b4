import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RedisServer } from "../support/redis.ts";

const MANIFEST =
  "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n";

/** Old states of Redis, restored as if an operator took the wrong backup. */
export class Snapshots {
  private readonly kept: string;

  constructor(private readonly redis: RedisServer) {
    this.kept = join(redis.folder, "kept.rdb");
  }

  get isThere(): boolean {
    return existsSync(this.kept);
  }

  /** Saves the current state, and replaces the previous one. */
  async take(): Promise<void> {
    await this.redis.call("SAVE");
    copyFileSync(join(this.redis.folder, "dump.rdb"), this.kept);
  }

  /** Restores the saved state into the data folder of a stopped server. */
  putBack(): void {
    const folder = join(this.redis.folder, "appendonlydir");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    copyFileSync(this.kept, join(folder, "appendonly.aof.1.base.rdb"));
    writeFileSync(join(folder, "appendonly.aof.1.incr.aof"), "");
    writeFileSync(join(folder, "appendonly.aof.manifest"), MANIFEST);
  }
}
