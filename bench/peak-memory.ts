import { residentBytes } from "./cpu-time.ts";

const SAMPLE_MS = 50;

/** Samples the resident memory of a process until `end`, which returns the first and the largest sample in bytes. */
export function peakOf(pid: number): { end(): { first: number; most: number } } {
  const first = residentBytes(pid);
  let most = first;
  const timer = setInterval(() => {
    try {
      most = Math.max(most, residentBytes(pid));
    } catch {
      // The process has ended.
    }
  }, SAMPLE_MS);
  return {
    end() {
      clearInterval(timer);
      return { first, most };
    },
  };
}
