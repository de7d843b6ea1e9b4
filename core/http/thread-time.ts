import { readFileSync, readlinkSync } from "node:fs";

/** Linux counts in hundredths of a second. */
const MS_PER_TICK = 10;
/** Places behind the name of the thread, which ends with the last bracket. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

/** Returns the name under which other threads find the processor time of this one; undefined except on Linux. */
export function ownThread(): string | undefined {
  try {
    return readlinkSync("/proc/thread-self");
  } catch {
    return undefined;
  }
}

/** Returns the processor time of a thread in ms, by the name that `ownThread` gave there; undefined if not known. */
export function threadTimeMs(thread: string | undefined): number | undefined {
  if (thread === undefined) return undefined;
  try {
    const stat = readFileSync(`/proc/${thread}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * MS_PER_TICK;
  } catch {
    return undefined;
  }
}
