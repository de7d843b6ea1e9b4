import { PeriodicTask, type Services, ThrottledLog } from "../../core/contract/index.ts";

const POLL_MS_MAX = 30_000;

/**
 * The oldest items that have to end, in all processes; times in milliseconds since the Unix epoch, undefined if there
 * is none.
 */
interface Standing {
  readonly holds: number;
  readonly oldestHoldMs: number | undefined;
  readonly oldestPostMs: number | undefined;
  readonly quarantined: number;
  readonly oldestQuarantinedMs: number | undefined;
}

/**
 * Reads periodically how old the oldest hold, uncommitted call and quarantined call are. None of them should stay
 * forever.
 */
export class Ages {
  private readonly services: Services;
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  /** The last reading; undefined before the first. */
  last: Standing | undefined;

  /** `everySeconds`: the period of reconciliations; 0 = none. */
  constructor(services: Services, everySeconds: number) {
    this.services = services;
    this.log = new ThrottledLog(services.log);
    const pollMs = everySeconds === 0 ? POLL_MS_MAX : Math.min(POLL_MS_MAX, everySeconds * 1_000);
    this.task = new PeriodicTask(async () => {
      await this.round();
      return pollMs;
    });
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async round(): Promise<void> {
    try {
      this.last = await this.read();
    } catch (error) {
      this.log.warn(
        { err: error },
        "cannot read the ages of holds; the metrics keep their last values",
      );
    }
  }

  private async read(): Promise<Standing> {
    const { holdStore, ledger } = this.services;
    const oldest = { hold: Number.POSITIVE_INFINITY, post: Number.POSITIVE_INFINITY };
    let holds = 0;
    for await (const calls of holdStore.standing()) {
      for (const { kind, sinceMs } of calls) {
        if (kind === "hold") holds += 1;
        oldest[kind] = Math.min(oldest[kind], sinceMs);
      }
    }
    const [first] = await ledger.quarantineList(1);
    return {
      holds,
      oldestHoldMs: finite(oldest.hold),
      oldestPostMs: finite(oldest.post),
      quarantined: await ledger.quarantined(),
      oldestQuarantinedMs: first?.since.getTime(),
    };
  }
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined;
}
