import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";

const SHORT_MS = 0.05;
const PAUSE_MS = 1;
const PATIENCE_MS = 500;

/**
 * Resolves in a pause of the clients: in a short turn of the event loop, after a moment in which no connection was
 * taken. When a listening socket closes, the system resets the connections that it has taken and the process has not,
 * so the last turn must be short; and clients that have just got a reply come back together a moment later. If no such
 * moment comes, a turn that takes no connection will do. `taken` counts the connections.
 *
 * The process sleeps before each look: a busy system then lets it run for a while, and not stand still before it closes.
 */
export async function pauseOfClients(taken: () => number): Promise<void> {
  const beganMs = performance.now();
  for (;;) {
    const before = taken();
    await delay(PAUSE_MS);
    const wokeMs = performance.now();
    const atWake = taken();
    await nextTurn();
    const nowMs = performance.now();
    const waitedMs = nowMs - beganMs;
    const isPause = taken() === (waitedMs < PATIENCE_MS ? before : atWake);
    if ((isPause && nowMs - wokeMs < SHORT_MS) || waitedMs > 2 * PATIENCE_MS) return;
  }
}
