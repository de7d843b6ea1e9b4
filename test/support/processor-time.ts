import { readFileSync } from "node:fs";

/** Linux shows hundredths of a second. */
const TICKS_A_SECOND = 100;

/** The seconds that a process and its ended children have used, of which `children` the latter; NaN if unknown. */
function used(pid: number): { all: number; children: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Its name may contain spaces. The times follow it: user and system, then those of ended children.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [user = 0, system = 0, ...ended] = fields.slice(11, 15).map(Number);
    const children = ended.reduce((sum, ticks) => sum + ticks, 0);
    return {
      all: (user + system + children) / TICKS_A_SECOND,
      children: children / TICKS_A_SECOND,
    };
  } catch {
    return { all: Number.NaN, children: Number.NaN };
  }
}

/** The processor time of a running process and of its ended children, in seconds; NaN if the system does not show it. */
export function processorSeconds(pid: number | undefined): number {
  return used(pid ?? 0).all;
}

/** Tells what each child of this process has used, once it has ended. */
export class EndedChildren {
  private seconds = used(process.pid).children;

  /** The seconds of the child that has just ended: what the ended children used since the last call. */
  sinceLast(): number {
    const before = this.seconds;
    this.seconds = used(process.pid).children;
    return this.seconds - before;
  }
}
