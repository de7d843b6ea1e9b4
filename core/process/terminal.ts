import { isatty } from "node:tty";

const STDOUT = 1;
const hadTerminal = isatty(STDOUT);

/**
 * Returns true if the terminal in which the process was started is closed: that sends SIGHUP, too. A service has none, and
 * `nohup` hides it.
 */
export function isTerminalGone(): boolean {
  return hadTerminal && !isatty(STDOUT);
}

/** Ends the process. Without its terminal, Node aborts at its end, and a core dump would have every secret. */
export function exit(code: number): never {
  if (isTerminalGone()) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}
