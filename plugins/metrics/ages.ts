import type { Services } from "../../core/plugin/index.ts";
import { ClaimedRun } from "./claimed-run.ts";

const PERIOD_SECONDS_MAX = 30;
const DEAD_AFTER_SECONDS = 60;

/** The oldest items that have to end, in all processes; times in milliseconds since the Unix epoch. */
export interface Standing {
  readonly holds: number;
  readonly oldestHoldMs?: number;
  readonly oldestPostMs?: number;
  readonly quarantined: number;
  readonly oldestQuarantinedMs?: number;
}

/**
 * Reads periodically how old the oldest hold, uncommitted call and quarantined call are. None of them should stay
 * forever. One process reads for all, because a reading goes through every hold and every outbox. `everySeconds`: the
 * period of reconciliations; 0 = none.
 */
export function agesOf(services: Services, everySeconds: number): ClaimedRun<Standing> {
  return new ClaimedRun({
    services,
    name: "ages",
    everySeconds: Math.min(PERIOD_SECONDS_MAX, everySeconds || PERIOD_SECONDS_MAX),
    deadAfterSeconds: DEAD_AFTER_SECONDS,
    failure: "cannot read the ages of holds; the metrics keep their last values",
    run: () => read(services),
  });
}

async function read({ operations }: Services): Promise<Standing> {
  const oldest = { hold: Number.POSITIVE_INFINITY, post: Number.POSITIVE_INFINITY };
  let holds = 0;
  for await (const calls of operations.current.standing()) {
    for (const { kind, sinceMs } of calls) {
      if (kind === "hold") holds += 1;
      oldest[kind] = Math.min(oldest[kind], sinceMs);
    }
  }
  const [first] = await operations.current.quarantineList(1);
  return {
    holds,
    ...(Number.isFinite(oldest.hold) && { oldestHoldMs: oldest.hold }),
    ...(Number.isFinite(oldest.post) && { oldestPostMs: oldest.post }),
    quarantined: await operations.current.quarantined(),
    ...(first && { oldestQuarantinedMs: first.since.getTime() }),
  };
}
