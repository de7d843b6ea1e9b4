import type { Test } from "tap";

interface Timer {
  atMs: number;
  readonly everyMs: number | undefined;
  readonly run: () => void;
  unref(): Timer;
}

/** Replaces timers until `t` ends; they fire only while `pass` advances their time. */
export function stoppedTimers(t: Test): { pass(ms: number): void } {
  const timers = new Set<Timer>();
  let nowMs = 0;
  const set = (run: () => void, ms: number, everyMs?: number): Timer => {
    const timer = { atMs: nowMs + ms, everyMs, run, unref: () => timer };
    timers.add(timer);
    return timer;
  };
  const clear = (timer: Timer) => timers.delete(timer);
  const replaced = {
    setTimeout: (run: () => void, ms: number) => set(run, ms),
    setInterval: (run: () => void, ms: number) => set(run, ms, ms),
    clearTimeout: clear,
    clearInterval: clear,
  };
  for (const [name, value] of Object.entries(replaced)) {
    t.intercept(globalThis, name as keyof typeof globalThis, { value, writable: true });
  }
  return {
    pass(ms) {
      const endMs = nowMs + ms;
      const next = () => [...timers].filter(({ atMs }) => atMs <= endMs).sort(byTime)[0];
      for (let timer = next(); timer; timer = next()) {
        nowMs = timer.atMs;
        if (timer.everyMs === undefined) timers.delete(timer);
        else timer.atMs += timer.everyMs;
        timer.run();
      }
      nowMs = endMs;
    },
  };
}

function byTime(one: Timer, other: Timer): number {
  return one.atMs - other.atMs;
}
