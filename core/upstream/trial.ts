import { RequestBody } from "../body/request-body.ts";
import type { Route } from "../catalogue/catalogue.ts";
import { endpointAt, type Protocol } from "../catalogue/endpoint.ts";
import { maxTokensField, mergeProfiles } from "../catalogue/profile.ts";
import type { Clock } from "../process/clock.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { Usage } from "../wire/usage/usage.ts";
import { wires } from "../wire/wires.ts";
import { Attempt, type AttemptListener, type Headers } from "./attempt.ts";
import { type FailureCause, failures } from "./failure-cause.ts";
import { type Refused, refusedBy } from "./fault.ts";
import { type HttpUpstream, isAnswered, type Tried } from "./http-upstream.ts";
import type { PooledKey } from "./key-pool.ts";
import { retryAfterMs, WholeReply } from "./upstream-reply.ts";

/** Less if the upstream has a `reply_seconds`. */
const TIMEOUT_MS_MAX = 60_000;
const REPLY_BYTES_MAX = 1_048_576;
const PROMPT = "Reply with the word OK.";
/** Enough for models that think first. */
const OUTPUT_TOKENS = 512;

/**
 * Makes one short, real call by a route with one key, and returns what came of it. The provider bills it; no customer does.
 * `wanted`: the protocol, if it matters. An answer ends the rest of the key, and closes the breaker: see `isAnswered`.
 */
export async function tryRoute(
  upstream: HttpUpstream,
  route: Route,
  key: PooledKey,
  clock: Clock,
  wanted?: Protocol,
): Promise<Tried> {
  const protocol =
    wanted ?? (["messages", "chat", "responses"] as const).find((one) => upstream.speaks(one));
  if (!protocol) return { served: false, reason: "this upstream writes no text" };
  const { upstreamPath: path } = endpointAt("", protocol);
  const body = bodyFor(protocol, upstream, route);
  const content = { contentType: "application/json", body };
  const call = { protocol, path, stream: false, ...content, headers: [] };
  const request = upstream.adapter.request(call, route);
  if (!request) return { served: false, reason: "this kind of upstream cannot express the call" };
  const beganMs = clock.monotonic();
  const credentials = await upstream.authorise(request, key);
  if (!Array.isArray(credentials)) return { served: false, ...failures.byError(credentials) };
  const reply = new TrialReply(protocol, clock);
  const attempt = new Attempt(upstream, reply);
  attempt.send(request, credentials);
  const patienceMs = route.reply_seconds ? route.reply_seconds * 1_000 : upstream.config.replyMs;
  const limitMs = Math.min(TIMEOUT_MS_MAX, patienceMs);
  const result = await withTimeout(reply.done, limitMs);
  const ms = Math.round(clock.monotonic() - beganMs);
  if (result === TIMED_OUT) {
    attempt.abort();
    return { served: false, reason: `no reply within ${limitMs / 1_000} seconds`, ms };
  }
  if (isAnswered(result)) {
    key.succeed(route.model, beganMs);
    upstream.breakers.probed(route.model, beganMs);
  }
  return { ...result, ms };
}

function bodyFor(protocol: Protocol, upstream: HttpUpstream, route: Route): RequestBody {
  const messages = [{ role: "user", content: PROMPT }];
  const asked = protocol === "responses" ? { input: PROMPT, store: false } : { messages };
  const body = RequestBody.of({ model: route.model, ...asked });
  const chatField = maxTokensField(mergeProfiles(upstream.config.profile, route.profile));
  wires[protocol].limitOutput(body, OUTPUT_TOKENS, chatField);
  return body;
}

class TrialReply implements AttemptListener {
  readonly done: Promise<Tried>;
  private readonly whole = new WholeReply();
  private status = 0;
  private retryAfterMs: number | undefined = undefined;
  private end: (tried: Tried) => void = () => {};

  constructor(
    private readonly protocol: Protocol,
    private readonly clock: Clock,
  ) {
    this.done = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  sent(): void {}

  replied(status: number, headers: Headers): void {
    this.status = status;
    this.retryAfterMs = retryAfterMs(headers, this.clock.now());
  }

  received(chunk: Buffer): void {
    if (this.whole.bytes <= REPLY_BYTES_MAX) this.whole.add(chunk);
  }

  completed(): void {
    const wire = wires[this.protocol];
    const { reply, worth } = this.whole.judge(wire);
    const { status } = this;
    if (status < 200 || status >= 300)
      return this.refused(refusedBy(status, this.whole.readRefusal()));
    const error = worth === "charged" ? undefined : this.whole.error();
    if (error) return this.refused(error);
    if (!reply || worth === "none")
      return this.fail(failures.unreadable("no reply of the protocol"));
    const usage = new Usage();
    wire.readReply(reply, usage);
    this.end({ served: true, status, usage });
  }

  private refused(stated: Refused): void {
    const refused = { ...stated, retryAfterMs: this.retryAfterMs ?? stated.retryAfterMs };
    this.end({ served: false, status: this.status, ...failures.refused(refused), refused });
  }

  private fail(failure: FailureCause): void {
    this.end({ served: false, status: this.status, ...failure });
  }

  failed(error: Error): void {
    this.fail(failures.byError(error));
  }

  bug(error: unknown): void {
    this.failed(error instanceof Error ? error : new Error("a bug"));
  }
}
