import { mkdirSync, realpathSync } from "node:fs";
import { shortSocketPath } from "../process/lock.ts";
import type { Log } from "../process/log.ts";
import { connect, type Sql } from "./client.ts";
import { EmbeddedProcess } from "./embedded-process.ts";
import { type DatabaseServer, remoteServer } from "./server.ts";

/** The child of a killed gateway takes a moment to exit. */
const LOCK_WAIT_MS = 5_000;

interface EmbeddedDatabaseOptions {
  /** The folder of the database, for one gateway at a time. Created with mode 700. */
  readonly folder: string;
  /** How long to wait for another gateway to release the folder. */
  readonly lockWaitMs?: number;
  readonly log: Log;
}

/**
 * A Postgres in a child process: the same SQL, nothing to install. While the child restarts after a
 * crash, every statement rejects.
 */
export class EmbeddedDatabase implements DatabaseServer {
  readonly sql: Sql;
  /** The unix socket of the database, for one connection at a time. */
  readonly socketPath: string;
  private readonly child: EmbeddedProcess;
  private readonly connections: DatabaseServer;

  constructor(options: EmbeddedDatabaseOptions) {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    const { log } = options;
    const folder = realpathSync(options.folder);
    const socketPath = shortSocketPath(folder, "postgres.socket");
    const lockWaitMs = options.lockWaitMs ?? LOCK_WAIT_MS;
    const child = new EmbeddedProcess({ folder, socketPath, lockWaitMs, log });
    this.sql = connect({
      server: { socketPath },
      // One connection, because the socket server mixes the messages of several. Between two
      // messages of one statement it may run one of another connection, which then uses the first
      // one's unnamed portal.
      connectionsMax: 1,
      statementTimeoutMs: 0,
      // A database killed during a statement was once seen to restart and never reply. Killed
      // again, it did.
      onSilent: () => child.kill(),
      log,
    });
    this.connections = remoteServer(this.sql);
    this.socketPath = socketPath;
    this.child = child;
  }

  start(): Promise<void> {
    return this.child.start();
  }

  async stop(): Promise<void> {
    await this.connections.stop();
    await this.child.stop();
  }

  /** Process id of the database, for tests that kill it. */
  get pid(): number | undefined {
    return this.child.pid;
  }
}
