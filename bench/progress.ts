const WIDTH = 24;

/** Shows how far a run of planned length has come: a bar on a terminal, else a line for each step. */
export class Progress {
  private readonly startedAtMs = performance.now();
  private doneSeconds = 0;

  constructor(private readonly plannedSeconds: number) {}

  /** Begins a step that is planned to take some seconds. */
  step(label: string, seconds: number): void {
    const text = barOf(this.doneSeconds / this.plannedSeconds, this.leftSeconds(), label);
    this.doneSeconds += seconds;
    const { stderr } = process;
    stderr.write(stderr.isTTY ? `\r\x1b[2K${text}` : `${text}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[2K");
  }

  /** The plan for the rest, stretched by what the steps so far took longer than planned. */
  private leftSeconds(): number {
    const tookSeconds = (performance.now() - this.startedAtMs) / 1_000;
    const stretch = this.doneSeconds > 0 ? tookSeconds / this.doneSeconds : 1;
    return (this.plannedSeconds - this.doneSeconds) * Math.max(1, stretch);
  }
}

/** Returns a bar such as `[####----] 50 %  1:05 left  chat: gateway`. `share` is from 0 to 1. */
export function barOf(share: number, leftSeconds: number, label: string): string {
  const done = Math.min(1, share);
  const filled = Math.round(done * WIDTH);
  const bar = "#".repeat(filled).padEnd(WIDTH, "-");
  const seconds = Math.max(0, Math.round(leftSeconds));
  const left = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `[${bar}] ${String(Math.round(done * 100)).padStart(3)} %  ${left} left  ${label}`;
}
