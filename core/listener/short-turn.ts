import { setImmediate as nextTurn } from "node:timers/promises";

const SHORT_MS = 0.3;
const TURNS_MAX = 200;

/**
 * Resolves right after a turn of the event loop in which little else was done, or after a number of turns. When a
 * listening socket closes, the system resets the connections that it has taken and the process has not: those of the
 * last turn, so this keeps it short.
 */
export async function shortTurn(): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const beganMs = performance.now();
    await nextTurn();
    if (performance.now() - beganMs < SHORT_MS) return;
  }
}
