import type { CallerKey } from "../accounts/index.ts";
import type { FormPart } from "../body/form.ts";
import type { RequestBody } from "../body/request-body.ts";
import type { MicroVnd } from "../catalogue/amount.ts";
import type { Catalogue, Model, Route } from "../catalogue/catalogue.ts";
import type { Endpoint, Protocol } from "../catalogue/endpoint.ts";
import type { Surcharge } from "../catalogue/features.ts";
import type { Quantity } from "../catalogue/price-factors.ts";
import type { Purse } from "../money/hold-store.ts";
import type { Tariff } from "../money/tariff.ts";
import type { CallOutcome } from "../money/usage-fields.ts";
import type { JsonObject } from "../process/json.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { Usage } from "../wire/usage/usage.ts";

/** The request to the upstream, in the upstream's protocol. */
export interface UpstreamRequest {
  readonly protocol: Protocol;
  readonly path: string;
  /** The JSON body; core sets the model's name for each route. Undefined if `form` is sent instead. */
  readonly body: RequestBody | undefined;
  readonly form: readonly FormPart[] | undefined;
  /** Client headers that matter upstream: name, value, name, value. */
  readonly headers: readonly string[];
  /**
   * Returns the body for a route whose profile may differ from that of the route that `body` was made for. Returns
   * undefined if the request cannot be expressed there, or goes there as `form`.
   */
  readonly bodyFor: ((route: Route) => RequestBody | undefined) | undefined;
  /**
   * Called with the status and the text of a provider's refusal, before any of it reaches the client. Returns true to
   * send the call again, on the same route and hold: `bodyFor` then returns another body. Without this method, the
   * client gets every refusal.
   */
  readonly sendsAgain?: ((status: number, text: string) => boolean) | undefined;
  /**
   * Work to do only once the price of the call is held, such as fetching what the request names. Core runs it once,
   * after all request plugins. It may replace the call's `upstream`, or refuse the call, which gives the hold back.
   */
  readonly prepare: ((left: AbortSignal) => Promise<Refusal | undefined>) | undefined;
  /** The maximum output tokens that the wallet covers. Core writes it into the body that is sent. */
  outputLimit: number | undefined;
  /** True if core must ask for usage in the stream, in the body that is sent. */
  wantsUsage: boolean;
}

/**
 * A purse that a call counts against in addition to the wallet, such as the budget of a key in a month. Its name includes the
 * period: `key:<id>:2026-11`. Nothing makes it: the stores keep what is spent of each name.
 */
export interface CallPurse extends Purse {
  /** Returns the refusal for a call that the purse does not cover. `availableMicroVnd` is what is left of it. */
  refusal(availableMicroVnd: MicroVnd): Refusal;
}

/** The hold of a running call: its price, and the output that it covers. */
export interface Held {
  readonly tariff: Tariff;
  /** The models of its beginning: other models that take part cost what they did then. */
  readonly catalogue: Catalogue;
  /**
   * Held for the input, or for a price per call or image. Grows only if the upstream reports more input than was
   * expected.
   */
  baseQuantity: Quantity;
  /** Held for the fees of features. */
  readonly feesMicroVnd: MicroVnd;
  outputTokens: number;
  readonly outputTokensMax: number;
}

/** How a call ended, with the refusal that the client gets if it did not end well. */
export type Outcome =
  | { readonly kind: "complete" }
  /** The wallet ran out in the middle of a stream. */
  | { readonly kind: "exhausted"; readonly refusal: Refusal }
  /** The client left, and the upstream was cancelled. */
  | { readonly kind: "gone" }
  /**
   * The upstream failed after it got the request. `truncated`: its body ended cleanly but too early. `errorSent`: the
   * upstream's own error event has reached the client.
   */
  | {
      readonly kind: "broken";
      readonly refusal: Refusal;
      readonly truncated: boolean;
      readonly errorSent: boolean;
    }
  /** The upstream replied with an error status, which the client gets. */
  | { readonly kind: "refused" };

export const COMPLETE: Outcome = { kind: "complete" };
export const GONE: Outcome = { kind: "gone" };
export const REFUSED: Outcome = { kind: "refused" };

/** Returns the outcome of a call that ends with an error of the gateway. */
export function brokenBy(refusal: Refusal): Outcome & { readonly kind: "broken" } {
  return { kind: "broken", refusal, truncated: false, errorSent: false };
}

/** Controls the upstream's reply while it runs. */
export interface Flow {
  pause(): void;
  resume(): void;
  /** Sends what a plugin has written to the sink. Call it after writing outside of an upstream's chunk. */
  flush(): void;
  /** Ends the reply with an error in the client's protocol and cancels the upstream. */
  cut(outcome: Outcome): void;
}

/** An attempt at an upstream that failed, so that the next route was tried or the call ended. */
export interface FailedAttempt {
  readonly upstream: string;
  /** The name of the model there. */
  readonly model: string;
  /** The last four characters of the upstream's key; empty if it has none. */
  readonly key: string;
  /**
   * The cause, one of few words: `key`, `account`, `access`, `model`, `limit` for refusals; `dns`, `connect`, `tls`,
   * `connection`, `silent`, `cut`, `empty`, `unreadable`, `credentials`, `http_` and the status for failures; `gateway`
   * if the upstream had no part in it.
   */
  readonly cause: string;
  /** The reason that operators see, such as `ECONNREFUSED`. Never content of a call. */
  readonly reason: string;
  /** True if the provider may bill it: it had the request, and has not refused it. The customer does not pay for it. */
  readonly lost: boolean;
}

/** A call that has ended: final, read-only numbers and names, never prompts or replies. */
export interface EndedCall extends Readonly<Pick<Call, EndedField>> {
  readonly usage: Readonly<Usage> | undefined;
  readonly held: Readonly<Held> | undefined;
  readonly outcome: CallOutcome;
  /** When the last byte left or the connection was cut, on the monotonic clock, like `startedMs`. */
  readonly endedMs: number;
}

type EndedField =
  | ("id" | "at" | "startedMs" | "firstByteAtMs" | "endpoint" | "stream" | "bodyBytes")
  | (
      | "key"
      | "refusedKey"
      | "model"
      | "mappedFrom"
      | "route"
      | "attempts"
      | "failedAttempts"
      | "upstreamKey"
    )
  | ("status" | "taken")
  | (
      | "surcharge"
      | "hasUnsoldUses"
      | "inputTokensBound"
      | "estimated"
      | "delivered"
      | "deliveredTokens"
      | "refusal"
    )
  | ("heldMicroVnd" | "costMicroVnd" | "writtenOffMicroVnd");

/**
 * One call from first byte to last, as plugins see it. Core sets the read-only fields. Each other field names the
 * plugin that sets it, and every later plugin may read it.
 */
export interface Call {
  readonly id: string;
  /** Start, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Start on the monotonic clock. */
  readonly startedMs: number;
  readonly endpoint: Endpoint;
  /** Request headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;

  /**
   * Returns the address of the client, which trusted proxies may state: see `TrustedProxies`. `unknown` once the client
   * has left.
   */
  clientAddress(): string;

  /** The client's request: a JSON object, or the text fields of a form. Empty until `request`. */
  readonly body: RequestBody;
  /** The files of a form. */
  readonly form: FormPart[] | undefined;
  readonly bodyBytes: number;
  readonly stream: boolean;
  /** The client's id of the session; undefined if it gives none. */
  readonly session: string | undefined;

  /** The caller's key; set by auth. */
  key: CallerKey | undefined;
  /** The known key of a call that auth refuses: it is revoked, its account suspended, or its limits do not let it call. */
  refusedKey: CallerKey | undefined;

  /** The model that serves the call; set by alias. */
  model: Model | undefined;
  /** The name that the caller sent, if alias mapped it to another. */
  mappedFrom: string | null;

  /** Headers of the client that go upstream: name, value. Set by core, like the next three fields. */
  betaHeaders: readonly string[];
  /** Routes of the model that do not allow a feature that the call uses. */
  excludedRoutes: readonly Route[];
  /** The amounts that the features of the call add to its price; undefined if none. */
  surcharge: Surcharge | undefined;
  /** True if the provider reports the use of a feature that the route does not sell; set when `close` runs. */
  hasUnsoldUses: boolean;

  /** True if the usage in the reply states the cost, in a chat protocol; a plugin before translate may set it. */
  showsCost: boolean;

  /** The request to the upstream; set by translate. */
  upstream: UpstreamRequest | undefined;

  /**
   * An upper bound of the input tokens, for the hold and never for the charge. Set by meter, like all fields to
   * `estimated`.
   */
  inputTokensBound: number;
  /**
   * The likely input tokens, by the average of texts, for the case that the provider reports none; undefined for images
   * and speech.
   */
  inputTokensLikely: number | undefined;
  /** Output tokens that the upstream wrote so far, counted by the gateway before its reply is translated. */
  deliveredTokens: number;
  /** True once content has been passed on to the client. */
  delivered: boolean;
  /** The upstream's whole reply, if it is one JSON object; set by core. */
  replyBody: JsonObject | undefined;
  usage: Usage | undefined;
  /** True if the gateway counted the usage because the provider did not report it. */
  estimated: boolean;

  /**
   * Purses beside the wallet, each name once. Any plugin before settle may add its own, 2 at most: settle adds 3 of the
   * key and 3 of its member.
   */
  purses: readonly CallPurse[];

  /**
   * The hold; set by settle, like the next four fields. Once the price is held, even if it is 0, the call may be
   * served.
   */
  held: Held | undefined;
  heldMicroVnd: MicroVnd;
  costMicroVnd: MicroVnd;
  /** The part of the cost that the wallet did not cover. */
  writtenOffMicroVnd: MicroVnd;
  /**
   * How long the upstream may go on after the client leaves, in milliseconds, to learn the usage. 0 cancels it at once;
   * infinite lets it finish.
   */
  lingerMs: number;

  /**
   * Headers that plugins add to the request to the upstream: name, value, name, value. Replace the list; others share
   * it.
   */
  upstreamHeaders: readonly string[];
  /**
   * Headers that plugins add to those of the reply: name, value, name, value. They may leave once `head` has passed all
   * sinks; those of a JSON reply leave after `close`.
   */
  readonly replyHeaders: string[];

  /** The route that serves the call; undefined before an upstream is tried. */
  readonly route: Route | undefined;
  /** How many times an upstream was tried. */
  readonly attempts: number;
  /** The last four characters of the upstream's key in the latest attempt; empty without one. */
  readonly upstreamKey: string;
  /** The attempts that failed, in their order. */
  readonly failedAttempts: readonly FailedAttempt[];
  /**
   * True while an upstream has the request, and has neither refused it nor failed: it bills the call, whether its
   * client stays or not.
   */
  readonly taken: boolean;
  /** Controls the reply; undefined before the first upstream is tried. */
  readonly flow: Flow | undefined;
  /** The HTTP status that the client gets; final when `close` runs. */
  readonly status: number;
  /** When the first byte of the upstream's reply arrived, on the monotonic clock; 0 before. */
  readonly firstByteAtMs: number;
  /** Set when `close` runs. */
  readonly outcome: CallOutcome | undefined;
  /** The error that the client gets from the gateway, if it gets one; set when `close` runs. */
  readonly refusal: Refusal | undefined;
  /** True once the client has left. Nothing can be written to it any more. */
  readonly gone: boolean;
}
