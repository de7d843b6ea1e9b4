import type { CallerKey } from "../accounts/index.ts";
import type { FormPart } from "../body/form.ts";
import { RequestBody } from "../body/request-body.ts";
import type { MicroVnd } from "../catalogue/amount.ts";
import type { Model, Route } from "../catalogue/catalogue.ts";
import type { Endpoint } from "../catalogue/endpoint.ts";
import type { Surcharge } from "../catalogue/features.ts";
import type { CallOutcome } from "../money/usage-fields.ts";
import type {
  Call,
  CallPurse,
  EndedCall,
  FailedAttempt,
  Flow,
  Held,
  UpstreamRequest,
} from "../plugin/call.ts";
import type { JsonObject } from "../process/json.ts";
import type { Exchange } from "../upstream/exchange.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { Usage } from "../wire/usage/usage.ts";
import type { ClientWire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";

const NO_PURSES: readonly CallPurse[] = [];
const NO_HEADERS: readonly string[] = [];
const NO_FAILURES: readonly FailedAttempt[] = [];
const NO_ROUTES: readonly Route[] = [];
const EMPTY = RequestBody.of({});

interface Client {
  address(): string;
  /** Refuses a call whose body has not arrived, and cuts its connection. */
  cutBody(refusal: Refusal): void;
}

const UNKNOWN = "unknown";
const NO_CLIENT: Client = { address: () => UNKNOWN, cutBody: () => {} };

/** The part of a running exchange that only core uses. */
type CoreFlow = Flow & Pick<Exchange, "bug" | "clientWaits" | "cutIfSilent" | "overdue">;

/**
 * A call as core runs it: the fields for plugins, and core's own. The constructor sets every field,
 * so that all calls have one shape.
 */
export class HttpCall implements Call {
  body = EMPTY;
  form: FormPart[] | undefined = undefined;
  bodyBytes = 0;
  stream = false;
  session: string | undefined = undefined;

  key: CallerKey | undefined = undefined;
  refusedKey: CallerKey | undefined = undefined;
  model: Model | undefined = undefined;
  mappedFrom: string | null = null;
  showsCost = false;
  betaHeaders: readonly string[] = NO_HEADERS;
  excludedRoutes: readonly Route[] = NO_ROUTES;
  surcharge: Surcharge | undefined = undefined;
  hasUnsoldUses = false;
  upstream: UpstreamRequest | undefined = undefined;
  inputTokensBound = 0;
  inputTokensLikely: number | undefined = undefined;
  deliveredTokens = 0;
  delivered = false;
  replyBody: JsonObject | undefined = undefined;
  usage: Usage | undefined = undefined;
  estimated = false;
  purses: readonly CallPurse[] = NO_PURSES;
  held: Held | undefined = undefined;
  heldMicroVnd: MicroVnd = 0;
  costMicroVnd: MicroVnd = 0;
  writtenOffMicroVnd: MicroVnd = 0;
  lingerMs = 0;
  upstreamHeaders: readonly string[] = NO_HEADERS;
  readonly replyHeaders: string[] = [];

  route: Route | undefined = undefined;
  attempts = 0;
  failedAttempts: readonly FailedAttempt[] = NO_FAILURES;
  upstreamKey = "";
  taken = false;
  flow: CoreFlow | undefined = undefined;
  status = 0;
  firstByteAtMs = 0;
  outcome: CallOutcome | undefined = undefined;
  refusal: Refusal | undefined = undefined;
  gone = false;

  private current: CallState = "admitting";
  /** How many plugins the call has reached, in the order of the config. `close` runs for these. */
  entered = 0;
  /** Its index in `HttpCallsInFlight`; -1 if it is not among them. */
  inFlightAt = -1;
  /** The account whose place it takes in `HttpCallsInFlight`, or an empty text; undefined if it takes none. */
  placeOf: string | undefined = undefined;
  /** True once its client has left and its upstream goes on. */
  left = false;
  /** True once it is refused and only waits for the end of its body. */
  lingers = false;
  /** When the call ended, on the monotonic clock; 0 before. */
  endedMs = 0;

  constructor(
    readonly id: string,
    readonly at: number,
    readonly startedMs: number,
    readonly endpoint: Endpoint,
    readonly headers: Readonly<Record<string, string>>,

    readonly wire: ClientWire = wires[endpoint.protocol],
    private readonly client: Client = NO_CLIENT,
  ) {}

  clientAddress(): string {
    return this.gone ? UNKNOWN : this.client.address();
  }

  get state(): CallState {
    return this.current;
  }

  /** Ends the call if its body still arrives: with this refusal, unless it was refused before. */
  cutBody(refusal: Refusal): void {
    if (this.current === "reading") this.client.cutBody(refusal);
  }

  /** Drops the bodies, some MB. Keeps the exchange: a plugin that writes too late is reported to it. */
  letGo(): void {
    this.upstream = undefined;
    this.replyBody = undefined;
    this.form = undefined;
    this.body.free();
    this.body = EMPTY;
  }

  /** Moves the call to its next state. Throws if the step is not allowed, which is a bug of the gateway. */
  step(to: CallState): void {
    const allowed: readonly CallState[] = STEPS[this.current];
    if (!allowed.includes(to)) {
      throw new Error(`a call cannot go from "${this.current}" to "${to}"`);
    }
    this.current = to;
  }
}

/** A call that has ended: `close` has run, and its numbers are final. */
export type EndedHttpCall = HttpCall & EndedCall;

export function isEnded(call: HttpCall): call is EndedHttpCall {
  return call.state === "ended";
}

/**
 * The states of a call.
 *
 * - `admitting`: plugins decide by its headers; its body may be arriving already.
 * - `reading`: admitted, and its body arrives. Or refused, and its body is read to its end.
 * - `requesting`: plugins decide by its body.
 * - `dispatched`: sent to an upstream, or passed to the route's own handler.
 * - `replying`: the upstream has replied; the sinks carry the reply to the client.
 * - `closing`: its outcome is decided; `close` runs once for every plugin that it has reached.
 * - `ended`: the last byte has left, or the connection was cut.
 */
export type CallState = keyof typeof STEPS;

/**
 * The allowed steps. A call that is refused, fails or loses its client goes to `closing` from any
 * state; from `admitting` and `requesting` only while no plugin's verdict is pending.
 */
export const STEPS = {
  admitting: ["reading", "closing"],
  // Routes with a handler of their own have no request plugins.
  reading: ["requesting", "dispatched", "closing"],
  requesting: ["dispatched", "closing"],
  // Before the first byte of a reply, the next route may be tried.
  dispatched: ["dispatched", "replying", "closing"],
  replying: ["closing"],
  closing: ["ended"],
  ended: [],
} as const;

/** Returns true once the outcome of a call is decided. It can no longer change. */
export function isOver(state: CallState): boolean {
  return state === "closing" || state === "ended";
}
