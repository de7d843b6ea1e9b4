import { setImmediate as nextTurn } from "node:timers/promises";

const SHORT_MS = 0.05;
const PAUSE_MS = 1;
const PATIENCE_MS = 500;

/**
 * Resolves in a pause of the clients: right after turns of the event loop in which little was done and no connection
 * was taken. When a listening socket closes, the system resets the connections that it has taken and the process has
 * not, so the last turn must be short; and clients that have just got a reply come back together a moment later. The
 * longer no pause comes, the shorter one will do. `taken` counts the connections.
 */
export async function pauseOfClients(taken: () => number): Promise<void> {
  const beganMs = performance.now();
  let turnMs = beganMs;
  let pauseMs = beganMs;
  let before = taken();
  for (;;) {
    await nextTurn();
    const nowMs = performance.now();
    const isQuiet = taken() === before && nowMs - turnMs < SHORT_MS;
    const enoughMs = PAUSE_MS * (1 - (nowMs - beganMs) / PATIENCE_MS);
    if (isQuiet && nowMs - pauseMs >= enoughMs) return;
    if (!isQuiet) pauseMs = nowMs;
    if (nowMs - beganMs > 2 * PATIENCE_MS) return;
    turnMs = nowMs;
    before = taken();
  }
}
