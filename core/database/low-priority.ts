import { readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** The lowest. If the ledger falls behind on a full core, new calls wait for it before they hold money. */
const NICE = 19;
const LOOK_MS = 500;

/**
 * Lets the gateway run first on a core that it shares with a server of Postgres: a commit of many calls would else
 * delay replies by milliseconds. Returns a function that ends it.
 *
 * Each process of Postgres begins a session of its own. A kernel with `sched_autogroup_enabled`, as on Debian and Ubuntu,
 * gives each session the same share of a core, and `nice` then counts within a session only. So the sessions are lowered
 * too, when they are seen (sched(7)). Neither needs a privilege.
 */
export function lowerPriority(pid: number): () => void {
  // The server's processes inherit it.
  attempt(() => setPriority(pid, NICE));
  let lowered = new Set<string>();
  const look = () => {
    const children = childrenOf(pid);
    // Without privileges the kernel takes one change in 100 ms: the others follow at the next looks.
    const lower = (child: string) =>
      lowered.has(child) || attempt(() => writeFileSync(`/proc/${child}/autogroup`, `${NICE}`));
    lowered = new Set(children.filter(lower));
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function childrenOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  } catch {
    // Another system, or the server has ended.
    return [];
  }
}

/** Returns false if the process has ended, or the system has no such setting: commits are as right, and no faster. */
function attempt(change: () => void): boolean {
  try {
    change();
    return true;
  } catch {
    return false;
  }
}
