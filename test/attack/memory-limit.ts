import { readFileSync, writeFileSync } from "node:fs";

const CHECK_MS = 50;
const KB = 1024;

/** Kills a process that takes more memory than the limit, as a container would, and knows its peak. */
export class MemoryLimit {
  wasExceeded = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly pid: number,
    bytesMax: number,
  ) {
    // Resets the peak.
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    this.timer = setInterval(() => {
      if (this.read("VmRSS") <= bytesMax) return;
      this.wasExceeded = true;
      process.kill(pid, "SIGKILL");
      clearInterval(this.timer);
    }, CHECK_MS);
  }

  /** Returns the peak memory of the process, in bytes; 0 if it has ended. */
  get peakBytes(): number {
    return this.read("VmHWM");
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private read(field: string): number {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
      return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) * KB;
    } catch {
      return 0;
    }
  }
}
