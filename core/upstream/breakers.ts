import type { BreakerState, Failure, ModelBreaker } from "../plugin/config.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { FailureCause } from "./failure-cause.ts";

/** Causes that concern all models of an upstream alike. */
const OF_ALL_MODELS: ReadonlySet<string> = new Set(["dns", "connect", "tls", "credentials"]);

const OPENED = "an upstream fails; it gets no calls, but probes from time to time";
const CLOSED = "an upstream works again and gets calls";

/** Failures beyond the successes after which an upstream gets no more retries. */
const RETRIES_MAX = 10;
/** Then it gets one again after this time without a failure: one that is only a backup has no other calls to show that it works. */
const RETRY_AGAIN_MS = 60_000;

/**
 * The breakers of an upstream: one for each of its models, and one for its connections, which all of them share; and
 * its budget of retries, so that an outage is not multiplied. Each failure takes one from the budget, each whole reply
 * brings one back. An upstream that works always has all of them, however many calls come to it from one that fails.
 */
export class Breakers {
  readonly ofAll: Breaker;
  private retries = RETRIES_MAX;
  private failedAtMs = 0;
  private readonly byModel = new Map<string, Breaker>();

  constructor(
    private readonly upstream: string,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.ofAll = this.create(undefined);
  }

  allow(model: string): boolean {
    return this.ofAll.allows && (this.byModel.get(model)?.allows ?? true);
  }

  isDue(model: string): boolean {
    return !this.allow(model) && this.retryInMs(model) === 0;
  }

  /** False while most calls fail: then it gets only first attempts of calls. */
  get allowRetries(): boolean {
    return this.retries > 0 || this.clock.monotonic() - this.failedAtMs > RETRY_AGAIN_MS;
  }

  /** Milliseconds until a probe of this model is due; 0 if it is now, or none is needed. */
  retryInMs(model: string): number {
    return Math.max(this.ofAll.retryInMs, this.byModel.get(model)?.retryInMs ?? 0);
  }

  begin(model: string): void {
    this.ofAll.begin();
    this.byModel.get(model)?.begin();
  }

  /** A whole reply has come to a call that was sent at this time. */
  succeed(model: string, sentMs: number): void {
    if (this.retries < RETRIES_MAX) this.retries += 1;
    this.ofAll.succeed(sentMs);
    this.byModel.get(model)?.succeed(sentMs);
  }

  probed(model: string, sentMs: number): void {
    this.ofAll.probed(sentMs);
    this.byModel.get(model)?.probed(sentMs);
  }

  /** The attempt says nothing of the upstream, or not yet. */
  forget(model: string): void {
    this.ofAll.forget();
    this.byModel.get(model)?.forget();
  }

  /** A call that was sent at this time has failed. */
  fail(model: string, { cause, reason }: FailureCause, sentMs: number): void {
    if (this.retries > 0) this.retries -= 1;
    this.failedAtMs = this.clock.monotonic();
    // A failure of one breaker is no result for the other.
    this.forget(model);
    (OF_ALL_MODELS.has(cause) ? this.ofAll : this.of(model)).fail(sentMs, reason, cause);
  }

  /** Records a failure that says nothing about the upstream's health, such as a refusal of the gateway's key. */
  note(model: string, { cause, reason }: FailureCause): void {
    this.forget(model);
    this.of(model).note(reason, cause);
  }

  /** That of all models, with an empty name, and those of models that have failed or been refused. */
  *[Symbol.iterator](): Iterator<ModelBreaker> {
    yield { model: "", breaker: this.ofAll };
    for (const [model, breaker] of this.byModel) yield { model, breaker };
  }

  /** The models come from the catalogue, so there are few. */
  private of(model: string): Breaker {
    let breaker = this.byModel.get(model);
    if (!breaker) {
      breaker = this.create(model);
      this.byModel.set(model, breaker);
    }
    return breaker;
  }

  private create(model: string | undefined): Breaker {
    const fields = { upstream: this.upstream, ...(model !== undefined && { model }) };
    return new Breaker(this.clock, (state, reason) => {
      if (state === "open") this.log.warn({ ...fields, reason }, OPENED);
      else this.log.info(fields, CLOSED);
    });
  }
}

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 5_000;
const OPEN_MS_MAX = 60_000;

/**
 * A circuit breaker. After 5 failures in a row it opens; a probe is due each 5 s. One success, a whole reply, closes
 * it. If only a probe succeeded, the next failure opens it again, and probes are due half as often, at least each
 * minute. Calls that were sent before it opened say nothing of what is since: long streams end well while all new calls
 * fail, and fail by silence while new calls are served.
 */
export class Breaker implements BreakerState {
  failuresInRow = 0;
  readonly failuresByCause: Record<string, number> = {};
  lastFailure: Failure | undefined = undefined;
  /** How often a probe alone has closed it since a call succeeded. */
  private probesInVain = 0;
  private openUntilMs = 0;
  private openedMs = Number.NEGATIVE_INFINITY;
  private probing = false;

  constructor(
    private readonly clock: Clock,
    private readonly onChange: (state: "open" | "closed", reason: string) => void,
  ) {}

  get allows(): boolean {
    return this.failuresInRow < FAILURES_TO_OPEN;
  }

  get state(): "closed" | "open" | "probing" {
    if (this.allows) return "closed";
    return this.probing ? "probing" : "open";
  }

  get failures(): number {
    return Object.values(this.failuresByCause).reduce((sum, count) => sum + count, 0);
  }

  /** Milliseconds until a probe of an open breaker is due; 0 if it is now, or the breaker is closed. */
  get retryInMs(): number {
    return this.allows ? 0 : Math.max(0, this.openUntilMs - this.clock.monotonic());
  }

  /** A call or a probe begins. One that has no result yet does not delay the next probe. */
  begin(): void {
    if (this.allows) return;
    this.probing = true;
    this.wait();
  }

  private wait(): void {
    const openMs = backoffMs(this.probesInVain + 1, OPEN_MS, OPEN_MS_MAX);
    this.openUntilMs = this.clock.monotonic() + openMs;
  }

  succeed(sentMs: number): void {
    if (sentMs < this.openedMs) return;
    this.probesInVain = 0;
    this.close("a call succeeded", 0);
  }

  /** A probe has succeeded. It was a small one, so calls must show the rest. */
  probed(sentMs: number): void {
    if (this.allows || sentMs < this.openedMs) return;
    this.probesInVain += 1;
    this.close("a probe succeeded", FAILURES_TO_OPEN - 1);
  }

  private close(reason: string, inRow: number): void {
    if (!this.allows) this.onChange("closed", reason);
    this.failuresInRow = inRow;
    this.probing = false;
  }

  /** `reason` is shown to operators: no content of a call. There are few causes. */
  fail(sentMs: number, reason = "failed", cause = "other"): void {
    this.note(reason, cause);
    if (sentMs < this.openedMs) return;
    this.failuresInRow++;
    if (this.allows) return;
    this.probing = false;
    this.wait();
    if (this.failuresInRow > FAILURES_TO_OPEN) return;
    this.openedMs = this.clock.monotonic();
    this.onChange("open", reason);
  }

  /** Records a failure that says nothing about the upstream's health, such as a refusal of the gateway's key. */
  note(reason: string, cause: string): void {
    this.failuresByCause[cause] = (this.failuresByCause[cause] ?? 0) + 1;
    this.lastFailure = { atMs: this.clock.monotonic(), reason };
  }

  /** Ends a probe without a result: the client left first, for example, or a reply has just begun. */
  forget(): void {
    this.probing = false;
  }
}
