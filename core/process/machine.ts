import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "./clock.ts";
import { type Disk, systemDisk } from "./disk.ts";

/** A running timer, such as a `NodeJS.Timeout`. */
export interface Timer {
  close(): unknown;
  unref(): unknown;
}

/**
 * Everything that code takes from its machine: time, timers, random ids, files. `core/money` gets it as a parameter, so
 * that a simulation can replace it: see `test/world/README.md`.
 */
export interface Machine extends Clock {
  after(ms: number, work: () => void): Timer;
  every(ms: number, work: () => void): Timer;
  uuid(): string;
  readonly disk: Disk;
}

export const systemMachine: Machine = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  after: (ms, work) => setTimeout(work, ms),
  every: (ms, work) => setInterval(work, ms),
  uuid: randomUUID,
  disk: systemDisk,
};

/** Resolves after `ms`. With `unref`, the process may end before that. */
export function sleep(machine: Machine, ms: number, { unref = false } = {}): Promise<void> {
  return new Promise((resolve) => {
    const timer = machine.after(ms, resolve);
    if (unref) timer.unref();
  });
}
