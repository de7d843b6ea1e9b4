import type { JsonObject } from "../process/json.ts";
import type { CallerKey } from "./accounts.ts";
import type { MicroVnd } from "./amount.ts";
import type { Model, Route } from "./catalogue.ts";
import type { Endpoint } from "./endpoint.ts";
import type { CallOutcome } from "./hold-store.ts";
import type { Protocol } from "./protocol.ts";
import type { Refusal } from "./refusal.ts";
import type { Tariff } from "./tariff.ts";
import type { Usage } from "./usage.ts";

/** A part of a multipart body. */
export interface FormPart {
  readonly name: string;
  readonly data: Buffer;
  readonly filename?: string;
  readonly type?: string;
}

/** What goes to the upstream, in its protocol. */
export interface UpstreamRequest {
  readonly protocol: Protocol;
  readonly path: string;
  /** The JSON body; the model's name is put in per route. Undefined where `form` is sent instead. */
  readonly body: JsonObject | undefined;
  readonly form: readonly FormPart[] | undefined;
  /** Client headers that matter upstream, name and value in turn. */
  readonly headers: readonly string[];
  /**
   * The body for a route whose profile may differ from that of the route that `body` was made for; undefined
   * where the request cannot be expressed there.
   */
  readonly bodyFor: ((route: Route) => JsonObject | undefined) | undefined;
  /** The most output tokens that the wallet affords, put into whichever body is sent. */
  outputLimit: number | undefined;
  /** Ask for a report of usage in a stream, put into whichever body is sent. */
  wantsUsage: boolean;
}

/** A limit beside the wallet that a call counts against: the budget of a key, say. */
export interface CallLimit {
  /** As in `LimitSnapshot`. A limit that is not there refuses the call: make it with `wallets.changeLimit` first. */
  readonly name: string;
  /** The refusal for a call that the limit does not afford, with what is left of it in µđ. */
  refusal(availableMicroVnd: MicroVnd): Refusal;
}

/** A running call's money: what it was promised at, and how much output is covered. */
export interface Held {
  readonly tariff: Tariff;
  /** Input and fixed units: held once, whatever comes out. */
  readonly baseUnits: number;
  outputTokens: number;
  readonly outputTokensMax: number;
}

/** How a call ended, and what the client is to be told where it did not end well. */
export type Outcome =
  | { readonly kind: "complete" }
  /** The wallet ran out in the middle of a stream. */
  | { readonly kind: "exhausted"; readonly refusal: Refusal }
  /** The client left. */
  | { readonly kind: "gone" }
  /**
   * The upstream failed after it was asked. `truncated`: its body ended cleanly but too early. `errorSent`: its own
   * error event went out to the client already.
   */
  | {
      readonly kind: "broken";
      readonly refusal: Refusal;
      readonly truncated: boolean;
      readonly errorSent: boolean;
    }
  /** The upstream answered with an error status, or could not be reached. */
  | { readonly kind: "refused" };

export const COMPLETE: Outcome = { kind: "complete" };
export const GONE: Outcome = { kind: "gone" };
export const REFUSED: Outcome = { kind: "refused" };

/** What a plugin may ask of the upstream's reply while it runs. */
export interface Flow {
  pause(): void;
  resume(): void;
  /** Sends what was written to the sink outside of an upstream's chunk. */
  flush(): void;
  /** Ends the reply with an error in its own protocol and cancels the upstream. */
  cut(outcome: Outcome): void;
}

/** A call that is over: numbers and names, nothing of what was said. Final; to be read only. */
export interface EndedCall extends Readonly<Pick<Call, EndedField>> {
  readonly usage: Readonly<Usage> | undefined;
  readonly held: Readonly<Held> | undefined;
  readonly outcome: CallOutcome;
  /** When the last byte left or the connection was cut, on the monotonic clock as `startedMs`. */
  readonly endedMs: number;
}

type EndedField =
  | ("id" | "at" | "startedMs" | "firstByteAtMs" | "endpoint" | "stream" | "bodyBytes")
  | ("key" | "model" | "mappedFrom" | "route" | "attempts" | "status")
  | ("estimated" | "delivered" | "deliveredTokens")
  | ("heldMicroVnd" | "costMicroVnd" | "writtenOffMicroVnd");

/**
 * One call from first byte to last, as plugins see it. What is read-only is set by core; each of the other
 * fields names the plugin that sets it, and every plugin that comes later may read it.
 */
export interface Call {
  readonly id: string;
  /** Start, milliseconds since the Unix epoch. */
  readonly at: number;
  /** Start on the monotonic clock. */
  readonly startedMs: number;
  readonly endpoint: Endpoint;
  /** Request headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;

  /** The request as the client sent it; a JSON object, or the text fields of a form. Empty until `request`. */
  readonly body: JsonObject;
  readonly form: FormPart[] | undefined;
  readonly bodyBytes: number;
  readonly stream: boolean;

  /** Who calls: auth. */
  key: CallerKey | undefined;

  /** What serves the call: alias. */
  model: Model | undefined;
  mappedFrom: string | null;

  /** What goes upstream: translate. */
  upstream: UpstreamRequest | undefined;

  /** How much it is expected to use, and used: meter. The bound is for the hold, never for the charge. */
  inputTokensBound: number;
  /** Its input as texts come to on average, for a provider that does not report; not of images and speech. */
  inputTokensLikely: number | undefined;
  /** Output delivered so far, counted here. */
  deliveredTokens: number;
  /** Something of worth has been passed on to the client. */
  delivered: boolean;
  /** The upstream's whole reply, if it is one JSON object. */
  replyBody: JsonObject | undefined;
  usage: Usage | undefined;
  /** The usage was counted here, since the provider did not report it. */
  estimated: boolean;

  /** Limits beside the wallet, each name once: any plugin before settle may add its own. */
  limits: readonly CallLimit[];

  /** What it costs: settle. Once its price is held, be it 0, the call may be served. */
  held: Held | undefined;
  heldMicroVnd: MicroVnd;
  costMicroVnd: MicroVnd;
  /** What it cost beyond what the wallet had. */
  writtenOffMicroVnd: MicroVnd;
  /** Let the upstream finish when the client leaves, to learn its usage. */
  drainWhenGone: boolean;

  /** Headers that any plugin adds to what the upstream sent, name and value in turn. */
  readonly replyHeaders: string[];

  /** Where it is served; undefined before an upstream was asked. */
  readonly route: Route | undefined;
  /** How often an upstream was asked. */
  readonly attempts: number;
  /** Steers the reply; undefined before the first upstream is asked. */
  readonly flow: Flow | undefined;
  /** The HTTP status that the client gets; final when `close` runs. */
  readonly status: number;
  /** On the monotonic clock; 0 before the first byte of the upstream's reply. */
  readonly firstByteAtMs: number;
  /** Set when `close` runs. */
  readonly outcome: CallOutcome | undefined;
  /** The client has left; nothing can be written to it any more. */
  readonly gone: boolean;
}
