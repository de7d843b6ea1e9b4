/**
 * Preloaded into a Node program that runs with `--expose-gc`. At SIGUSR2 it collects all garbage, and appends what is
 * left as a line of JSON to the file that its own address names after the question mark.
 */
import { appendFileSync } from "node:fs";

const file = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const FINALIZERS_MS = 100;

process.on("SIGUSR2", () => {
  globalThis.gc?.();
  // Finalizers let go of more.
  setTimeout(() => {
    globalThis.gc?.();
    appendFileSync(file, `${JSON.stringify(process.memoryUsage())}\n`);
  }, FINALIZERS_MS);
});
