import type { Dispatcher } from "undici";
import type { Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { Trial, Upstream, UpstreamConfig } from "../plugin/config.ts";
import type { LoadedUpstream, OutgoingRequest, UpstreamAdapter } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { JsonObject } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { Breakers } from "./breakers.ts";
import { drawnConversation } from "./conversation.ts";
import { failures, NotAuthorised } from "./failure-cause.ts";
import type { Refused } from "./fault.ts";
import { KeyPool, type PooledKey } from "./key-pool.ts";

/** The result of a trial, with the refusal if there was one. */
export interface Tried extends Trial {
  readonly refused?: Refused;
}

/** Returns true if the upstream works: it served a trial, or refused its request, as a model does that takes only streams. */
export function isAnswered({ served, refused }: Tried): boolean {
  return served || refused?.triesOn === false;
}

type TryRoute = (
  upstream: HttpUpstream,
  route: Route,
  key: PooledKey,
  clock: Clock,
  protocol?: Protocol,
) => Promise<Tried>;

const LIMITED = "an upstream's key has reached its limit; it rests";
const KEY_REFUSED =
  "an upstream refuses the gateway's key; it rests, and other keys and routes serve its calls: check the account there";
const MODEL_UNKNOWN =
  "an upstream does not know the name of a model; other keys and routes serve its calls: check the catalogue";

const NONE: ReadonlySet<string> = new Set();

/** An upstream for calls: its kind's adapter, its connections, its keys and its breakers. */
export class HttpUpstream implements Upstream {
  readonly config: UpstreamConfig;
  readonly adapter: UpstreamAdapter;
  readonly breakers: Breakers;
  readonly pool: KeyPool;
  /** Set by `switchOff` alone. */
  off: ReadonlySet<string> = NONE;
  private readonly probing = new Set<string>();
  /** Texts that no customer may see in its errors, the longest first. */
  readonly hidden: readonly string[];

  constructor(
    readonly name: string,
    config: LoadedUpstream,
    readonly dispatcher: Dispatcher,

    /** The longest wait for a connection, and for credentials. */
    private readonly connectMs: number,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly tryRoute: TryRoute,
  ) {
    this.config = config;
    this.adapter = config.createAdapter();
    this.hidden = [...(this.adapter.hidden?.() ?? [])].sort((a, b) => b.length - a.length);
    this.breakers = new Breakers(name, clock, log);
    this.pool = new KeyPool(this.adapter.keys ?? [], clock);
  }

  get keys(): readonly PooledKey[] {
    return this.pool.keys;
  }

  /** Returns true if an operator has switched it off for this model. */
  isOff(model: string): boolean {
    return this.off.size > 0 && (this.off.has("") || this.off.has(model));
  }

  /** Returns the credentials of a request: at once, unless its kind has to wait for them. Neither throws nor rejects. */
  authorise(
    request: OutgoingRequest,
    key: PooledKey,
  ): string[] | NotAuthorised | Promise<string[] | NotAuthorised> {
    try {
      const credentials = this.adapter.authorise(request, this.clock.now(), key.text);
      return Array.isArray(credentials) ? credentials : this.inTime(credentials);
    } catch (error) {
      return NotAuthorised.by(error);
    }
  }

  private async inTime(pending: Promise<string[]>): Promise<string[] | NotAuthorised> {
    const credentials = await withTimeout(pending, this.connectMs).catch(NotAuthorised.by);
    if (Array.isArray(credentials) || credentials instanceof NotAuthorised) return credentials;
    // A kind of a plugin may return anything.
    return new NotAuthorised(credentials === TIMED_OUT ? "timed out" : "no list");
  }

  try(route: Route, id: string): Promise<Trial> {
    const key = this.keys.find((one) => one.id === id);
    return key
      ? this.tryRoute(this, route, key, this.clock)
      : Promise.resolve({ served: false, reason: "there is no such key" });
  }

  /**
   * Finds out by a short, real call if a model works again here, while calls go elsewhere. The operator pays the
   * provider for it. One model has one at a time.
   */
  probe(route: Route, protocol: Protocol): void {
    const { breakers, pool, clock } = this;
    const { model } = route;
    if (this.probing.has(model)) return;
    const key = pool.awake(model, [], drawnConversation());
    if (!key) return;
    this.probing.add(model);
    breakers.begin(model);
    const sentMs = clock.monotonic();
    const isOver = () => this.probing.delete(model);
    this.tryRoute(this, route, key, clock, protocol)
      .finally(isOver)
      .then(
        (tried) => {
          if (isAnswered(tried)) return;
          const { refused, cause = "other", reason = "a probe failed" } = tried;
          if (cause === "credentials") {
            this.log.error(
              { upstream: this.name, model, reason },
              "cannot get credentials for a probe",
            );
          }
          if (!refused || refused.isCounted) return breakers.note(model, { cause, reason });
          // It works, and what the refusal concerns rests by itself.
          this.refused(route, key, refused, sentMs);
          breakers.probed(model, sentMs);
        },
        (error: unknown) => {
          breakers.forget(model);
          this.log.error({ err: error, upstream: this.name, model }, "cannot make a probe");
        },
      );
  }

  /**
   * Rests what a refusal of a call that was sent at this time concerns: nothing, the key, or the key for this model.
   * `callId`: the customer's call, if it was one.
   */
  refused(
    { model }: Route,
    key: PooledKey,
    refused: Refused,
    sentMs: number,
    callId?: string,
  ): void {
    const { fault, status, type, code, row, retryAfterMs } = refused;
    const failure = failures.refused(refused);
    this.breakers.note(model, failure);
    const times = { sentMs, nowMs: this.clock.monotonic(), retryAfterMs };
    if (!key.fail(fault, failure.reason, model, times)) return;
    const fields = {
      ...(callId !== undefined && { call_id: callId }),
      ...{ upstream: this.name, model, key: key.last4, fault, status, type, code, row },
    };
    if (fault === "limit") this.log.info(fields, LIMITED);
    else this.log.error(fields, fault === "model" ? MODEL_UNKNOWN : KEY_REFUSED);
  }

  speaks(protocol: Protocol): boolean {
    return this.config.protocols.has(protocol);
  }

  describe(): JsonObject {
    return this.adapter.describe();
  }
}
