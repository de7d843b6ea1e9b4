import { PeriodicTask, type Services, ThrottledLog } from "../../core/contract/index.ts";

const POLL_MS_MAX = 30_000;
/** Of a period: processes look at different times, and none should leave a run that is due to the next look. */
const DUE = 0.9;

interface ClaimedRunOptions<Result> {
  readonly services: Services;
  /** Its row in `claimed_runs`. */
  readonly name: string;
  readonly everySeconds: number;
  /** After this time a run counts as dead, and another process may start one. */
  readonly deadAfterSeconds: number;
  /** For the log, if it fails: `cannot …`. */
  readonly failure: string;
  /** Does the work. Undefined: this process stops, and so the run has no result. */
  run(): Promise<Result | undefined>;
}

/** The result of the last run, by any process, and when it ended. */
interface Finished<Result> {
  readonly atMs: number;
  readonly result: Result;
}

/**
 * Work that one process does for all, periodically: what it costs does not grow with the number of processes. The first
 * that finds a run due does it; each of them reads the result.
 */
export class ClaimedRun<Result> {
  private readonly options: ClaimedRunOptions<Result>;
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  /** Undefined before the first result. */
  last: Finished<Result> | undefined;

  constructor(options: ClaimedRunOptions<Result>) {
    this.options = options;
    this.log = new ThrottledLog(options.services.log);
    const pollMs = Math.min(POLL_MS_MAX, options.everySeconds * 1_000);
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
      if (await this.isClaimed()) await this.runClaimed();
      await this.look();
    } catch (error) {
      this.log.warn({ err: error }, this.options.failure);
    }
  }

  /** Claims a run that is due. Returns false if none is, or another process has claimed it. */
  private async isClaimed(): Promise<boolean> {
    const { services, name, everySeconds, deadAfterSeconds } = this.options;
    const claimed = await services.database.query(
      `update claimed_runs set started_at = now()
      where name = $1 and started_at <= now() - $2::float8 * interval '1 second'
        and (finished_at >= started_at or started_at = 'epoch'
          or started_at <= now() - $3::integer * interval '1 second')
      returning name`,
      [name, everySeconds * DUE, deadAfterSeconds],
    );
    return claimed.length > 0;
  }

  /** A run without a result is due again, for any process. */
  private async runClaimed(): Promise<void> {
    const { services, name, run } = this.options;
    let result: Result | undefined;
    try {
      result = await run();
    } finally {
      await (result === undefined
        ? services.database.query("update claimed_runs set started_at = 'epoch' where name = $1", [
            name,
          ])
        : services.database.query(
            "update claimed_runs set finished_at = now(), result = $2::text::json where name = $1",
            [name, JSON.stringify(result)],
          ));
    }
  }

  private async look(): Promise<void> {
    const { services, name } = this.options;
    const [last] = await services.database.query<Finished<Result>>(
      `select extract(epoch from finished_at)::float8 * 1000 as "atMs", result
      from claimed_runs where name = $1 and finished_at is not null`,
      [name],
    );
    this.last = last;
  }
}
