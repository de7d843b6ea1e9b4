import { chmodSync, lstatSync, mkdirSync, realpathSync, rmdir } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { shortSocketPath } from "../process/lock.ts";
import type { Log } from "../process/log.ts";
import { connect, type Sql } from "./client.ts";
import { EmbeddedProcess } from "./embedded-process.ts";
import { type DatabaseServer, remoteServer } from "./server.ts";

/** A database whose gateway was killed takes a moment to end. */
const LOCK_WAIT_MS = 5_000;
/** Each is a process of its own, of some 5 MB. */
const CONNECTIONS = { pages: 2, commits: 1, loads: 1 };
/** As Postgres names it, by its default port. */
const SOCKET = ".s.PGSQL.5432";

interface EmbeddedDatabaseOptions {
  /** The folder of the database, for one gateway at a time. Created with mode 700. */
  readonly folder: string;
  /** How long to wait for another gateway to release the folder. */
  readonly lockWaitMs?: number;
  /** The server cancels a statement after this time; 0, the default, = never. */
  readonly statementTimeoutMs?: number;
  /** Other settings of the server, and a command that runs its programs, for tests. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly wrapper?: readonly string[];
  readonly log: Log;
}

/**
 * A Postgres in a child process, from npm: nothing to install. While the child restarts after a crash, every statement
 * rejects. Its socket lies in a folder that no other user may enter, so it asks for no password.
 */
export class EmbeddedDatabase implements DatabaseServer {
  readonly sql: Sql;
  readonly commits: Sql;
  readonly loads: Sql;
  /** The unix socket of the database. */
  readonly socketPath: string;
  private readonly child: EmbeddedProcess;
  private readonly connections: DatabaseServer;

  constructor({
    statementTimeoutMs = 0,
    lockWaitMs = LOCK_WAIT_MS,
    ...options
  }: EmbeddedDatabaseOptions) {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    const folder = realpathSync(options.folder);
    const socketPath = embeddedSocket(folder);
    const socketFolder = dirname(socketPath);
    this.child = new EmbeddedProcess({ ...options, folder, socketFolder, lockWaitMs });
    const server = { socketPath };
    const { log } = options;
    const open = (connectionsMax: number) =>
      connect({ server, connectionsMax, statementTimeoutMs, log });
    this.sql = open(CONNECTIONS.pages);
    this.commits = open(CONNECTIONS.commits);
    this.loads = open(CONNECTIONS.loads);
    this.connections = remoteServer(this.sql, this.commits, this.loads);
    this.socketPath = socketPath;
  }

  async start(): Promise<void> {
    makePrivate(dirname(this.socketPath));
    await this.child.start();
  }

  async stop(): Promise<void> {
    await this.connections.stop();
    await this.child.stop();
    // Postgres has removed the socket. The folder of the database is not empty, and stays.
    rmdir(dirname(this.socketPath), () => {});
  }

  /** Process id of the server while it runs, for tests that kill it. */
  get pid(): number | undefined {
    return this.child.pid;
  }
}

/** Returns the path of the socket of a database in `folder`, an absolute path without links. */
export function embeddedSocket(folder: string): string {
  const path = join(folder, SOCKET);
  const short = shortSocketPath(folder, SOCKET);
  // Too deep for a socket: a folder in the temporary one, with a name that is as long as needed to be its own.
  return short === path ? path : join(short, SOCKET);
}

/** Creates a folder for this user only. Throws if another user was faster, in the temporary folder of all. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Root may use the folder of another user, but not trust it.
  if (folder.startsWith(tmpdir()) && lstatSync(folder).uid !== process.getuid?.()) {
    throw new Error(`${folder} belongs to another user; delete it`);
  }
  chmodSync(folder, 0o700);
}
