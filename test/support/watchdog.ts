import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/**
 * A shell that ends the process whose id it got last, and deletes a folder, as soon as its stdin
 * closes. That happens whenever the test's process ends, even by SIGKILL.
 */
export class Watchdog {
  private readonly shell: ChildProcess;

  constructor(folder?: string) {
    const script =
      'while read -r line; do pid=$line; done; [ -z "$pid" ] || kill -9 "$pid"; ' +
      '[ -z "$1" ] || { sleep 0.2; rm -rf "$1" || { sleep 1; rm -rf "$1"; }; }';
    this.shell = spawn("sh", ["-c", script, "sh", folder ?? ""], {
      stdio: ["pipe", "ignore", "ignore"],
      // Ctrl-C signals the whole process group of the test; the watchdog must survive it.
      detached: true,
    });
    this.shell.unref();
  }

  /** From now on, this process ends when the test does. */
  guard(child: ChildProcess): void {
    this.shell.stdin?.write(`${child.pid}\n`);
    child.once("exit", () => this.shell.stdin?.write("\n"));
  }

  /** Ends the process, if it still runs, and deletes the folder. */
  async stop(): Promise<void> {
    this.shell.ref();
    const gone = once(this.shell, "exit");
    this.shell.stdin?.end();
    await gone;
  }
}
