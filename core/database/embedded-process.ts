import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { backoffMs } from "../process/backoff.ts";
import type { Log } from "../process/log.ts";

const PROGRAM = fileURLToPath(new URL("./embedded-server.js", import.meta.url));
/** The database takes seconds to start, and a minute on a busy machine. */
const READY_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 5_000;
const RESTART_MS_MIN = 50;
const RESTART_MS_MAX = 5_000;

/** Messages from the child to its parent. */
export type ServerMessage =
  | { readonly kind: "ready" }
  /** Another gateway uses the folder, or the database cannot be opened. The child then exits. */
  | { readonly kind: "in_use" | "failed"; readonly message: string };

interface EmbeddedProcessOptions {
  readonly folder: string;
  readonly socketPath: string;
  readonly lockWaitMs: number;
  readonly log: Log;
}

/** Runs the embedded database in a child process, and restarts it until `stop`. */
export class EmbeddedProcess {
  private readonly options: EmbeddedProcessOptions;
  private child: ChildProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Failed starts in a row. */
  private failures = 0;
  private stopping = false;

  constructor(options: EmbeddedProcessOptions) {
    this.options = options;
  }

  /**
   * Resolves once the database takes queries. Rejects with the reason if it cannot. Later crashes
   * are handled here.
   */
  async start(): Promise<void> {
    await this.launch();
  }

  /** Stops the database cleanly, or kills it after 5 s. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    const { child } = this;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    // If the child is dying already, it gets no message, and its exit is enough.
    if (child.connected) child.send("stop", () => {});
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Kills a child that hangs. It is restarted, as after a crash. */
  kill(): void {
    this.options.log.error({ pid: this.pid }, "the embedded ledger does not reply; restarting it");
    this.child?.kill("SIGKILL");
  }

  /** Process id of the child, for tests that kill it. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  private async launch(): Promise<void> {
    const { folder, socketPath, lockWaitMs } = this.options;
    const child = fork(PROGRAM, [folder, socketPath, String(lockWaitMs)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.child = child;
    let output = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-2_000);
    });
    await ready(child, () => output);
    this.failures = 0;
    child.once("exit", (code, signal) => {
      if (this.stopping) return;
      this.options.log.error({ code, signal, output }, "the embedded ledger died; restarting it");
      this.relaunchSoon();
    });
  }

  private relaunchSoon(): void {
    const restartMs = backoffMs(this.failures + 1, RESTART_MS_MIN, RESTART_MS_MAX);
    this.timer = setTimeout(() => {
      this.launch().then(
        () => this.options.log.info({}, "the embedded ledger is back"),
        (error: unknown) => {
          if (this.stopping) return;
          this.options.log.error({ err: error }, "cannot start the embedded ledger; retrying");
          this.failures += 1;
          this.relaunchSoon();
        },
      );
    }, restartMs);
  }
}

function ready(child: ChildProcess, output: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("it was not ready in time"), READY_TIMEOUT_MS);
    const finish = () => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      child.off("error", onError);
    };
    const fail = (reason: string) => {
      finish();
      child.kill("SIGKILL");
      reject(new Error(`the embedded ledger did not start: ${reason}`));
    };
    const onMessage = (message: ServerMessage) => {
      if (message.kind !== "ready") return fail(message.message);
      finish();
      resolve();
    };
    const onExit = (code: number | null, signal: string | null) =>
      fail(`it ended with ${signal ?? `code ${code}`}. ${output()}`);
    const onError = (error: Error) => fail(error.message);
    child.on("message", onMessage);
    child.on("exit", onExit);
    child.on("error", onError);
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
