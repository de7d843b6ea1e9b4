import { readdirSync, readFileSync } from "node:fs";

/** Linux reports process time in 1/100 s, independent of its timer frequency. */
const TICK_US = 10_000;

/** Processor time that a proxy has used, in microseconds: user plus system. */
export interface CpuTime {
  /** The thread that runs the event loop. */
  readonly mainUs: number;
  /** All threads of the process, including garbage collection, compilation and the thread pool. */
  readonly processUs: number;
  /** Processor time of its child processes and theirs, such as the embedded ledger, also of those that have ended. */
  readonly childrenUs: number;
}

/** Reads the processor time of a process and its children from `/proc`. */
export function cpuTime(pid: number): CpuTime {
  let childrenUs = 0;
  for (const child of descendantsOf(pid)) {
    try {
      childrenUs += timeOf(`/proc/${child}/stat`, 4);
    } catch {
      // It ended since, such as a worker of Postgres: its parent has its time.
    }
  }
  return {
    mainUs: timeOf(`/proc/${pid}/task/${pid}/stat`),
    processUs: timeOf(`/proc/${pid}/stat`),
    childrenUs,
  };
}

export function cpuSince(before: CpuTime, after: CpuTime): CpuTime {
  return {
    mainUs: after.mainUs - before.mainUs,
    processUs: after.processUs - before.processUs,
    childrenUs: after.childrenUs - before.childrenUs,
  };
}

/** Returns the processor time of a process with one thread, to the microsecond. */
export function exactCpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}

/** Returns the resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Returns the ids of the direct children of `pid`. */
export function childrenOf(pid: number): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Number(fieldsOf(`/proc/${name}/stat`)[1]) === pid) found.push(Number(name));
    } catch {
      // The process ended after the folder was listed.
    }
  }
  return found;
}

function descendantsOf(pid: number): number[] {
  const children = childrenOf(pid);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** The first two times are those of the process, the other two those of children that have ended. */
function timeOf(path: string, times: 2 | 4 = 2): number {
  const ticks = fieldsOf(path).slice(11, 11 + times);
  return ticks.reduce((sum, each) => sum + Number(each), 0) * TICK_US;
}

/** Returns the fields after the command name, which may contain spaces: state, parent, … */
function fieldsOf(path: string): string[] {
  const text = readFileSync(path, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
