import { type Services, TIMED_OUT, withTimeout } from "../../core/plugin/index.ts";
import { delaysRecipient, reasonOf, refusesRecipient } from "./mail-failure.ts";
import { mailText } from "./mail-text.ts";
import type { Transport } from "./transport.ts";

/** Returns the mail to send; undefined if there is none. */
type MailJob = Parameters<Services["messages"]["current"]["secretMails"]["take"]>[0];
type Mail = NonNullable<Awaited<ReturnType<MailJob>>>;

/** A mail that the server has not taken yet. */
interface Attempt {
  readonly mail: Mail;
  readonly number: number;
}

const WAITING_MAX = 1000;
const AT_ONCE = 2;
/** Delays of retries: long enough for a mail server to restart. After the last retry the customer can ask again. */
const RETRIES_MS = [1_000, 5_000, 20_000, 60_000];
const STOP_MS = 5_000;
const FAILING_MS = 3_600_000;

/**
 * Sends mails in the background, so that no reply waits for the mail server, or reveals by its time whether there was a
 * mail to send. Queues at most 1,000 jobs, which a restart drops: these mails have a secret link, which is stored nowhere. All
 * others are in the outbox.
 */
export class SecretMails {
  private readonly waiting: (MailJob | Attempt)[] = [];
  private readonly running = new Set<Promise<void>>();
  /** Since the start. Of those that were given up: `refused` by their recipients, to a `channel`, or `failed`. */
  readonly counts = { sent: 0, refused: 0, channel: 0, failed: 0 };
  /** Of the first and the last mail that failed since the server has taken one. Unix time in ms. */
  private failing: { readonly sinceMs: number; readonly lastMs: number } | undefined;
  /** One for each mail that waits for a retry. */
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(
    private readonly transport: Transport,
    private readonly services: Pick<Services, "log" | "clock">,
  ) {}

  /** When the first mail failed since the server has taken one; undefined if it has, or if none has failed for an hour. */
  get failingSince(): Date | undefined {
    const { sinceMs, lastMs } = this.failing ?? { sinceMs: 0, lastMs: 0 };
    return this.services.clock.now() - lastMs < FAILING_MS ? new Date(sinceMs) : undefined;
  }

  /** True if `take` would refuse a job. */
  get isFull(): boolean {
    return this.waiting.length + this.timers.size >= WAITING_MAX;
  }

  /** Queues a job. Returns false if the queue is full. */
  take(job: MailJob): boolean {
    if (this.isFull) return false;
    this.enqueue(job);
    return true;
  }

  /** Waits up to 5 s for mails to be sent, then drops the rest. */
  async stop(): Promise<void> {
    const untilMs = performance.now() + STOP_MS;
    while (this.running.size > 0) {
      const oneEnds = Promise.race(this.running);
      if ((await withTimeout(oneEnds, untilMs - performance.now())) === TIMED_OUT) break;
    }
    for (const timer of this.timers) clearTimeout(timer);
    const left = this.waiting.splice(0).length + this.running.size + this.timers.size;
    if (left > 0)
      this.services.log.warn({ mails: left }, "stopped before all mails were sent; dropping them");
  }

  private enqueue(work: MailJob | Attempt): void {
    this.waiting.push(work);
    this.next();
  }

  private next(): void {
    while (this.running.size < AT_ONCE) {
      const work = this.waiting.shift();
      if (!work) return;
      const run = this.run(work).finally(() => {
        this.running.delete(run);
        this.next();
      });
      this.running.add(run);
    }
  }

  private async run(work: MailJob | Attempt): Promise<void> {
    if (typeof work === "object") return this.send(work);
    let mail: Mail | undefined;
    try {
      mail = await work();
    } catch (error) {
      this.services.log.warn({ err: error }, "cannot prepare a mail; not sending it");
    }
    if (mail) await this.send({ mail, number: 1 });
  }

  private async send({ mail, number }: Attempt): Promise<void> {
    const { log, clock } = this.services;
    try {
      await this.transport.send(mail.to, mailText(mail.texts, mail.language));
      this.counts.sent++;
      this.failing = undefined;
    } catch (error) {
      const retryMs = RETRIES_MS[number - 1];
      const { code, response_code } = reasonOf(error);
      const failure = { kind: mail.kind, attempt: number, code, response_code };
      const isRefused = refusesRecipient(error);
      // A recipient who is refused is no failure of the server.
      if (!isRefused && !delaysRecipient(error)) {
        const lastMs = clock.now();
        this.failing = { sinceMs: this.failingSince?.getTime() ?? lastMs, lastMs };
      }
      if (retryMs === undefined || isRefused) {
        this.counts[isRefused ? "refused" : "failed"]++;
        log.error(failure, "cannot send a mail; giving up");
        return;
      }
      log.warn(failure, "cannot send a mail; retrying");
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.enqueue({ mail, number: number + 1 });
      }, retryMs);
      this.timers.add(timer.unref());
    }
  }
}
