/**
 * The thread of `Watchdog`: counts ticks in which the watched event loop is blocked. Then pauses its JavaScript, logs the
 * stack, and resumes it or ends the process.
 */
import { writeSync } from "node:fs";
import { type Debugger, Session } from "node:inspector";
import { Worker, workerData } from "node:worker_threads";
import { ticksWithProcessor } from "./processor-wait.ts";
import type { KillData, WatchdogData } from "./watchdog.ts";

const FRAMES_MAX = 12;
const STEPS_MAX = 20;
const ERROR_LEVEL = 50;
const FATAL_LEVEL = 60;

const data: WatchdogData = workerData;
const { shared, tickMs, reportTicks, status, schedstat } = data;
const passed = ticksWithProcessor(schedstat, tickMs);
let seen = 0;
/** Ticks since the last turn, less the time in which the thread waited for a processor. */
let ticks = 0;
let isEnding = false;

setInterval(() => {
  const turns = Atomics.load(shared, 0);
  const before = ticks;
  const more = passed();
  ticks = turns === seen ? Math.max(0, before + more) : 0;
  seen = turns;
  if (ticks === 0) isEnding = false;
  if (before < reportTicks && ticks >= reportTicks) {
    log(ERROR_LEVEL, "the event loop does not turn");
    startKill();
    look(false);
  } else if (!isEnding && ticks >= Atomics.load(shared, 1)) {
    isEnding = true;
    log(FATAL_LEVEL, "the event loop does not turn; ending this process");
    look(true);
  }
}, tickMs);

/** Stops the thread in a session of the inspector. Does not return while that thread is in a system call. */
function look(isEnd: boolean): void {
  const turns = seen;
  const session = new Session();
  const files = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => files.set(params.scriptId, params.url));
  let steps = 0;
  let isDone = false;
  session.on("Debugger.paused", ({ params }) => {
    // Another session has stopped the thread as well.
    if (isDone) return;
    const { callFrames } = params;
    const [top] = callFrames;
    const turnsAgain = Atomics.load(shared, 0) !== turns;
    const isOurs = callFrames.some(({ location }) => !isInternal(files.get(location.scriptId)));
    // A loop of promises is in Node's own code between two of them.
    if (!turnsAgain && !isOurs && steps++ < STEPS_MAX) return session.post("Debugger.stepInto");
    isDone = true;
    if (!turnsAgain) log(ERROR_LEVEL, "where the event loop stands", places(callFrames, files));
    if (isEnd && !turnsAgain && top) {
      const expression = `process.reallyExit(${status})`;
      session.post("Debugger.evaluateOnCallFrame", { callFrameId: top.callFrameId, expression });
    } else session.post("Debugger.resume", () => session.disconnect());
  });
  session.connectToMainThread();
  session.post("Debugger.enable", () => session.post("Debugger.pause"));
}

/** Ends the process a little after this thread would, in case that this thread cannot. */
function startKill(): void {
  const workerData: KillData = { ...data, turns: seen };
  const thread = new Worker(new URL("./watchdog-kill.js", import.meta.url), { workerData });
  thread.unref();
  thread.on("error", () => {});
}

function isInternal(file: string | undefined): boolean {
  return file === undefined || file === "" || file.startsWith("node:");
}

function places(
  frames: readonly Debugger.CallFrame[],
  files: ReadonlyMap<string, string>,
): string[] {
  return frames.slice(0, FRAMES_MAX).map(({ functionName, location }) => {
    const file = files.get(location.scriptId) ?? "";
    const place = `${file}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
    return functionName === "" ? place : `${functionName} (${place})`;
  });
}

/** Writes a line in the form of the log straight to stdout: the stream of the log belongs to the watched thread. */
function log(level: number, msg: string, where?: readonly string[]): void {
  const line = { level, time: Date.now(), stalledMs: Math.round(ticks * tickMs), where, msg };
  try {
    writeSync(1, `${JSON.stringify(line)}\n`);
  } catch {
    // A full pipe. The end of the process does not wait for its reader.
  }
}
