import type { Schedule } from "./job.ts";

/** When the calls of a schedule are due. */
export interface DueTimes {
  readonly calls: number;
  readonly seconds: number;
  /** Returns when a call is due, in ms after the start. The first is call 0. */
  dueAtMs(call: number): number;
}

/** Returns the due times of a schedule, whose rates are at least 0. */
export function dueTimes(schedule: Schedule): DueTimes {
  const stretches: { first: number; beganAtMs: number; stretch: Schedule[number] }[] = [];
  let calls = 0;
  let ms = 0;
  for (const stretch of schedule) {
    stretches.push({ first: calls, beganAtMs: ms, stretch });
    calls += ((stretch.from + stretch.to) / 2) * stretch.seconds;
    ms += stretch.seconds * 1_000;
  }
  let at = 0;
  return {
    calls: Math.round(calls),
    seconds: ms / 1_000,
    dueAtMs(call) {
      if (call < stretches[at]!.first) at = 0;
      while (at + 1 < stretches.length && call >= stretches[at + 1]!.first) at++;
      const { first, beganAtMs, stretch } = stretches[at]!;
      return beganAtMs + secondsUntil(call - first, stretch) * 1_000;
    },
  };
}

/** Solves `from × t + (to − from) × t² / (2 × seconds) = calls` for t. */
function secondsUntil(calls: number, { from, to, seconds }: Schedule[number]): number {
  if (from === to) return from === 0 ? seconds : calls / from;
  const growth = (to - from) / seconds;
  return (Math.sqrt(Math.max(0, from * from + 2 * growth * calls)) - from) / growth;
}
