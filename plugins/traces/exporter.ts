import { type Services, ThrottledLog, TIMED_OUT, withTimeout } from "../../core/plugin/index.ts";
import { exportRequest, type OtlpSpan } from "./otlp.ts";

/** Spans in one batch: encoding them takes the main thread about 1 ms. */
const BATCH_SPANS = 256;
const FLUSH_MS = 5_000;
const TIMEOUT_MS = 10_000;
const STOP_MS = 2_000;
/** The statuses after which OTLP allows a retry. */
const RETRIED: readonly number[] = [429, 502, 503, 504];

interface Receiver {
  /** The address without a trailing slash. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly queuedSpansMax: number;
}

type Delivery = "delivered" | "refused" | "later";

/**
 * Sends spans to an OTLP receiver in the background, every 5 s or as soon as 256 wait. Keeps a bounded number. Drops
 * and counts the spans beyond it, and those that the receiver refuses.
 */
export class Exporter {
  sentSpans = 0;
  droppedSpans = 0;
  private readonly throttledLog: ThrottledLog;
  private waiting: OtlpSpan[] = [];
  private sending: Promise<void> | undefined;
  /** True after a failure: then only the timer starts a new attempt. */
  private isAway = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly receiver: Receiver,
    private readonly log: Services["log"],
  ) {
    this.throttledLog = new ThrottledLog(log);
    this.timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  add(span: OtlpSpan): void {
    if (this.waiting.length >= this.receiver.queuedSpansMax) {
      this.droppedSpans += 1;
      return;
    }
    this.waiting.push(span);
    if (this.waiting.length >= BATCH_SPANS && !this.isAway) this.flush();
  }

  /** Sends the waiting spans for up to 2 s, then drops the rest. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.flush();
    const isLate = (await withTimeout(this.sending ?? Promise.resolve(), STOP_MS)) === TIMED_OUT;
    const left = this.waiting.length;
    if (left > 0 || isLate) {
      this.log.warn({ spans: left }, "stopped before all spans were sent; dropping them");
    }
    this.droppedSpans += left;
    this.waiting = [];
  }

  private flush(): void {
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined;
    });
  }

  /** Sends batch by batch until no span waits or the receiver fails. Never rejects. */
  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH_SPANS);
      const delivery = await this.send(batch);
      this.isAway = delivery === "later";
      // Failed spans stay in the queue, and keep their place in the bound.
      if (this.isAway) return;
      this.waiting = this.waiting.slice(batch.length);
      if (delivery === "delivered") this.sentSpans += batch.length;
      else this.droppedSpans += batch.length;
    }
  }

  private async send(batch: readonly OtlpSpan[]): Promise<Delivery> {
    const { endpoint, headers, serviceName } = this.receiver;
    try {
      const response = await fetch(`${endpoint}/v1/traces`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: exportRequest(serviceName, batch),
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (response.ok) return "delivered";
      if (RETRIED.includes(response.status)) return this.later(`status ${response.status}`);
      this.throttledLog.warn(
        { status: response.status },
        "the receiver of traces refuses spans; dropping them",
      );
      return "refused";
    } catch (error) {
      return this.later(reasonOf(error));
    }
  }

  private later(reason: string): Delivery {
    this.throttledLog.warn(
      { reason },
      "cannot send spans to the receiver of traces; trying again in 5 s",
    );
    return "later";
  }
}

/** Returns the code of a failed connection, or the name of the error. A message may have the address. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && "code" in cause) return String(cause.code);
  return error instanceof Error ? error.name : "unknown";
}
