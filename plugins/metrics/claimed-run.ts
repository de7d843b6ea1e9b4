import { PeriodicTask, type Services, ThrottledLog } from "../../core/plugin/index.ts";

const POLL_MS_MAX = 10_000;
/** Of a period: processes look at different times, and none should leave a run that is due to the next look. */
const DUE = 0.9;
/** A run that failed is due again after this. All processes at once would try it without a pause. */
const RETRY_SECONDS = 10;

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
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  /** Undefined before the first result. */
  last: Finished<Result> | undefined;

  constructor(private readonly options: ClaimedRunOptions<Result>) {
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
      const claim = await this.claim();
      if (claim !== undefined) await this.runClaimed(claim);
      await this.look();
    } catch (error) {
      this.log.warn({ err: error }, this.options.failure);
    }
  }

  /**
   * Claims a run that is due. Returns undefined if none is, or another process has claimed it. One that is due far in the
   * future is due now: the clock of the database was wrong.
   */
  private async claim(): Promise<string | undefined> {
    const { services, name, everySeconds, deadAfterSeconds } = this.options;
    const [claimed] = await services.database.query<{ due: string }>(
      `update claimed_runs set due_at = now() + $2::float8 * interval '1 second'
      where name = $1 and (due_at <= now()
        or due_at > now() + greatest($2::float8, $3::float8) * interval '1 second' + interval '1 minute')
      returning due_at::text as due`,
      [name, deadAfterSeconds, everySeconds],
    );
    return claimed?.due;
  }

  private async runClaimed(claim: string): Promise<void> {
    const { run, everySeconds } = this.options;
    let result: Result | undefined;
    let dueInSeconds = RETRY_SECONDS;
    try {
      result = await run();
      dueInSeconds = result === undefined ? 0 : everySeconds * DUE;
    } finally {
      await this.end(claim, dueInSeconds, result);
    }
  }

  /** Keeps the result and says when the run is due again, unless it took so long that another process has claimed it. */
  private async end(claim: string, dueInSeconds: number, result?: Result): Promise<void> {
    const { services, name } = this.options;
    await services.database.query(
      `update claimed_runs set due_at = now() + $3::float8 * interval '1 second',
        finished_at = case when $4::text is null then finished_at else now() end,
        result = coalesce($4::text::json, result)
      where name = $1 and due_at = $2::text::timestamptz`,
      [name, claim, dueInSeconds, result === undefined ? null : JSON.stringify(result)],
    );
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
