import { setPriority } from "node:os";

/** A third of the main thread's share of a busy core. */
const NICENESS = 5;

/**
 * Lets the main thread go before this one if there are fewer free cores than threads. Linux alone has priorities of
 * single threads; elsewhere, does nothing.
 */
export function yieldToMainThread(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(NICENESS);
  } catch {
    // A sandbox forbids it, or the process has a lower priority already: the thread works as well.
  }
}
