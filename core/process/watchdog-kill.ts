/** Kills a process whose event loop still stands when the watchdog's own thread should have ended it. */
import { workerData } from "node:worker_threads";
import { ticksWithProcessor } from "./processor-wait.ts";
import type { KillData } from "./watchdog.ts";

/** Ticks that the watchdog's thread may take to end the process itself. */
const GRACE_TICKS = 15;

const { shared, turns, tickMs, reportTicks, schedstat }: KillData = workerData;
const passed = ticksWithProcessor(schedstat, tickMs);
/** Ticks without a turn. */
let ticks = reportTicks;

const timer = setInterval(() => {
  ticks += passed();
  const turnsAgain = Atomics.load(shared, 0) !== turns;
  const isOver = ticks >= Atomics.load(shared, 1) + GRACE_TICKS;
  if (turnsAgain || isOver) clearInterval(timer);
  if (!turnsAgain && isOver) process.kill(process.pid, "SIGKILL");
}, tickMs);
