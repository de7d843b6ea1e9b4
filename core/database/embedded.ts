import { mkdirSync, realpathSync } from "node:fs";
import { PostgresLedger } from "../money/ledger/postgres.ts";
import type { Clock } from "../process/clock.ts";
import { shortSocketPath } from "../process/lock.ts";
import type { Log } from "../process/log.ts";
import { connect } from "./client.ts";
import { EmbeddedProcess } from "./embedded-process.ts";

/** The database of a killed gateway needs a moment to notice. */
const LOCK_WAIT_MS = 5_000;

export interface EmbeddedLedgerOptions {
  /** The folder of the database, for one gateway at a time; created with mode 700. */
  readonly folder: string;
  /** How long to wait for another gateway on the folder to be gone. */
  readonly lockWaitMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The ledger in a Postgres that is a child of this process: the same SQL, nothing to install. While the
 * child is being restarted after a crash, every operation rejects.
 */
export class EmbeddedLedger extends PostgresLedger {
  /** The unix socket of the database, for one connection at a time. */
  readonly socketPath: string;
  private readonly child: EmbeddedProcess;

  constructor(options: EmbeddedLedgerOptions) {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    const { clock, log } = options;
    const folder = realpathSync(options.folder);
    const socketPath = shortSocketPath(folder, "postgres.socket");
    // One connection, because the socket server mixes the messages of several: between two of one
    // statement it may run one of another connection, which then takes its unnamed portal.
    const server = { server: { socketPath }, connectionsMax: 1, statementTimeoutMs: 0 };
    const lockWaitMs = options.lockWaitMs ?? LOCK_WAIT_MS;
    const child = new EmbeddedProcess({ folder, socketPath, lockWaitMs, log });
    // A database that was killed in the middle of a statement was once seen to come back and never answer
    // again; killed once more it does.
    const onSilent = () => child.kill();
    super({ sql: connect({ ...server, onSilent, log }), clock, log });
    this.socketPath = socketPath;
    this.child = child;
  }

  override async start(): Promise<void> {
    await this.child.start();
    await super.start();
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.child.stop();
  }

  /** Process id of the database, for tests that kill it. */
  get pid(): number | undefined {
    return this.child.pid;
  }
}
