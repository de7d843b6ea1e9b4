import { setTimeout as delay } from "node:timers/promises";
import { PeriodicTask, type Services, ThrottledLog } from "../../core/plugin/index.ts";
import { digestOf } from "./file.ts";
import { writeMails } from "./mails.ts";
import { currentTerms, type Options } from "./terms.ts";

const LOOK_MS = 300_000;
/** After a look that failed, or that found other statements it cannot close than the one before. */
const RETRY_MS = 20_000;
/** After a step the database is left to the calls for as long as the step took, at most this long. */
const PAUSE_MS_MAX = 2_000;

/**
 * Closes the statements of months that are over, and mails their digests. All gateways do so at once: a statement is made of
 * what is in the database, so all of them find the same, and one closes it.
 */
export class Closing {
  private readonly throttledLog: ThrottledLog;
  private readonly task: PeriodicTask;
  private readonly stopping = new AbortController();
  /** The month before which everything is closed, and before which everyone has a mail. */
  private closedBefore = "";
  private mailedBefore = "";
  /** Accounts whose statement could not be closed in the last pass over all; undefined before the first. */
  failing: number | undefined;

  constructor(
    private readonly services: Services,
    private readonly options: Options,
  ) {
    this.throttledLog = new ThrottledLog(services.log);
    this.task = new PeriodicTask(async () => {
      const { failing = 0 } = this;
      try {
        await this.look();
        return this.failing === failing ? LOOK_MS : RETRY_MS;
      } catch (error) {
        if (!this.stopping.signal.aborted)
          this.throttledLog.warn({ err: error }, "cannot close statements; trying again soon");
        return RETRY_MS;
      }
    });
  }

  start(): void {
    this.task.start();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.task.stop();
  }

  private async look(): Promise<void> {
    const { messages, usage } = this.services;
    const current = await usage.months.current();
    if (this.closedBefore !== current) {
      this.failing = await this.closeAll(current);
      if (this.failing === 0) this.closedBefore = current;
    }
    this.stopping.signal.throwIfAborted();
    if (this.mailedBefore === current || !messages.current.sendsMail) return;
    // Only those of the last month: older ones are of a time without this plugin, or without a mail server.
    await writeMails(this.services, monthBefore(current));
    if (this.closedBefore === current) this.mailedBefore = current;
  }

  /** Returns the number of accounts whose statement could not be closed. */
  private async closeAll(current: string): Promise<number> {
    const { months } = this.services.usage;
    let failing = 0;
    for (let after: string | undefined; ; ) {
      const page = await this.step(() => months.due(current, after));
      if (page.length === 0) return failing;
      for (const { account, isDue } of page) {
        if (!isDue) continue;
        try {
          await this.closeOf(account, current);
        } catch (error) {
          this.stopping.signal.throwIfAborted();
          failing += 1;
          this.throttledLog.warn(
            { err: error, account_id: account },
            "cannot close a statement; the customer gets none until this is repaired",
          );
        }
      }
      after = page.at(-1)?.account;
    }
  }

  private async closeOf(accountId: string, current: string): Promise<void> {
    const { months } = this.services.usage;
    for (;;) {
      const found = await this.step(() => months.add(accountId, current));
      if (found === "none") return;
      if (found === "more") continue;
      const digest = await digestOf(months, found).catch(async (error: unknown) => {
        // The next look reads the ledger again: by then its rows may be repaired.
        await months.discard(found);
        throw error;
      });
      const terms = await currentTerms(this.services, this.options, found);
      await months.close(found, digest, JSON.stringify(terms));
    }
  }

  private async step<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.stopping;
    signal.throwIfAborted();
    const startedMs = performance.now();
    const result = await work();
    await delay(Math.min(performance.now() - startedMs, PAUSE_MS_MAX), undefined, { signal });
    return result;
  }
}

function monthBefore(month: string): string {
  const first = new Date(`${month}-01T00:00:00Z`);
  first.setUTCMonth(first.getUTCMonth() - 1);
  return first.toISOString().slice(0, 7);
}
