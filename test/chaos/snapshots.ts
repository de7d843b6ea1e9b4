import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RedisServer } from "../support/redis.ts";

const MANIFEST =
  "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n";

/** Old states of Redis, to be brought back as an operator with the wrong backup would. */
export class Snapshots {
  private readonly redis: RedisServer;
  private readonly kept: string;

  constructor(redis: RedisServer) {
    this.redis = redis;
    this.kept = join(redis.folder, "kept.rdb");
  }

  get isThere(): boolean {
    return existsSync(this.kept);
  }

  /** Keeps the state of this moment in place of an earlier one. */
  async take(): Promise<void> {
    await this.redis.call("SAVE");
    copyFileSync(join(this.redis.folder, "dump.rdb"), this.kept);
  }

  /** Puts the kept state where a server that is down will find it. */
  putBack(): void {
    const folder = join(this.redis.folder, "appendonlydir");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    copyFileSync(this.kept, join(folder, "appendonly.aof.1.base.rdb"));
    writeFileSync(join(folder, "appendonly.aof.1.incr.aof"), "");
    writeFileSync(join(folder, "appendonly.aof.manifest"), MANIFEST);
  }
}
