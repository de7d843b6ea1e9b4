import { closeSync } from "node:fs";
import { isatty } from "node:tty";

const STDOUT = 1;
const LOOK_MS = 1_000;
const CLOSING_MS = 3_000;

const terminals = [0, STDOUT, 2].filter((fd) => isatty(fd));
let openMs = performance.now();

if (terminals.includes(STDOUT)) {
  const look = () => {
    if (isatty(STDOUT)) openMs = performance.now();
  };
  setInterval(look, LOOK_MS).unref();
}

/**
 * Returns true at the SIGHUP of a terminal that is just being closed, in which the process was started. A service has no
 * terminal; and one that has outlived its terminal reloads at a later SIGHUP, since nothing would start it again.
 */
export function isTerminalClosing(): boolean {
  if (!terminals.includes(STDOUT) || isatty(STDOUT)) return false;
  return performance.now() - openMs < CLOSING_MS;
}

// At its end, Node aborts over a terminal that is gone, and a core dump would have every secret.
process.on("exit", () => {
  for (const fd of terminals) if (!isatty(fd)) closeSync(fd);
});
