/**
 * How to add a kind of upstream, for a provider that wants other addresses, signatures or stream formats:
 *
 * 1. Write `kinds/<name>.ts`: a `settings` mapping, `protocols`, and `create`, which returns the adapter.
 *    `http-json.ts` is the model; `test/core/upstream/kinds/signing.ts` signs requests and reads a stream format of
 *    its own. Bodies (`body.ts`), addresses (`addresses.ts`) and the usual statuses and content
 *    types (`replies.ts`) are there to be used.
 * 2. Add it to the list in `kinds/index.ts`. The config then takes `kind: <name>` with these settings, and checks them.
 * 3. Run `npm run schema`, which writes the settings into `config/schema.json` for editors.
 * 4. Write its test beside `test/core/upstream/signing-kind.test.ts`, against a server that checks what it gets.
 *
 * Core does the rest: it chooses the route, fills in the body, sends, retries, reads the reply and charges it. For each
 * attempt it calls `request`, then `authorise`; for each reply `refusal` if the status is not 2xx, then `decoder`.
 */

import type * as v from "valibot";
import type { FormPart } from "../../contract/call.ts";
import type { Route } from "../../contract/catalogue.ts";
import type { UpstreamConfig } from "../../contract/config.ts";
import type { Protocol } from "../../contract/protocol.ts";
import type { JsonObject } from "../../process/json.ts";
import type { ServerEvent } from "../../sse/reader.ts";

/** A way to speak to providers. Stateless; what an upstream keeps (keys in turn, tokens) is in its adapter. */
export interface UpstreamKind<Entries extends v.ObjectEntries = v.ObjectEntries> {
  /** As `kind` in the config names it. */
  readonly name: string;
  /** The keys of the upstream's mapping in the config, beside `kind`, `profile` and `connections`. */
  readonly settings: Entries;
  /**
   * The protocols that such an upstream takes calls of; undefined if these settings do not say. Settings with a fault
   * are missing here, so that the config's other parts can still be checked.
   */
  protocols(settings: Partial<SettingsOf<Entries>>): ReadonlySet<Protocol> | undefined;
  /** Prepares one upstream. Starts nothing: no timer, no connection. */
  create(settings: SettingsOf<Entries>): UpstreamAdapter;
}

/** What the schemas of a kind's settings make of the file. */
export type SettingsOf<Entries extends v.ObjectEntries> = v.InferOutput<
  v.StrictObjectSchema<Entries, undefined>
>;

/** One upstream of the config, as its kind speaks to it. */
export interface UpstreamAdapter {
  /**
   * The request for one route, whole but for its credentials. Return undefined if it cannot be expressed: the next
   * route is then tried.
   */
  request(call: OutgoingCall, route: Route): OutgoingRequest | undefined;
  /**
   * Headers to add, name and value in turn: the credentials. The request is final, so that it can be signed. Return a
   * promise only if you have to wait, for a token say; `nowMs` is milliseconds since the Unix epoch. A promise has until `limits.connect_seconds`. If it rejects, the
   * attempt has failed and the next route is tried. The log gets the error's `code` or `name`, never its message.
   */
  authorise(request: OutgoingRequest, nowMs: number): string[] | Promise<string[]>;
  /** What a status other than 2xx means. Called once a reply, so a token that was refused can be dropped here. */
  refusal(status: number): RefusalKind;
  /** How to read a body. `contentType` as the upstream sent it; undefined if it sent none. */
  decoder(status: number, contentType: string | undefined): Decoder;
  /** What operators see of it. No secrets: the number of keys, not the keys. */
  describe(): JsonObject;
}

/** A call on its way out, in the upstream's protocol. Not to be changed: the next route may get the same objects. */
export interface OutgoingCall {
  readonly protocol: Protocol;
  /** The operation, relative to the base address that clients of the protocol are given: `/chat/completions`. */
  readonly path: string;
  readonly stream: boolean;
  /** The whole body, with the route's model, the output limit and the wish for usage in it; undefined for a form. */
  readonly body: JsonObject | undefined;
  /** The parts of a multipart body. The route's model is not in it yet. */
  readonly form: readonly FormPart[] | undefined;
  /** Client headers that matter upstream, name and value in turn. */
  readonly headers: readonly string[];
}

/** A request, sent by POST as it is. The connection adds `host`, which is that of `origin`, and `content-length`. */
export interface OutgoingRequest {
  readonly protocol: Protocol;
  /** `https://api.example.com` */
  readonly origin: string;
  /** With the query, if there is one. */
  readonly path: string;
  /** Name and value in turn, the content type among them. */
  readonly headers: readonly string[];
  readonly body: string | Buffer;
}

/**
 * `elsewhere`: another upstream may accept the call; if none is left, the client gets this reply. `account`: the
 * same, but the gateway's own account is refused, so that the client gets 502. `failed`: the upstream is not well; it
 * counts for its breaker, and the client gets 502 if no route is left. `caller`: the call is at fault; the client gets
 * this reply.
 */
export type RefusalKind = "elsewhere" | "account" | "caller" | "failed";

/**
 * `events`: server-sent events. `json`: one JSON body. `bytes`: anything else; with an error status, the client gets an
 * error of the gateway's instead. A `ReplyDecoder` turns a stream format of the provider's own into events. Events of
 * either kind come with status 200 only.
 */
export type Decoder = "events" | "json" | "bytes" | ReplyDecoder;

/** Turns the body of one reply into the events of its protocol. The client gets them as `text/event-stream`. */
export interface ReplyDecoder {
  /** Hands on every event that is complete. Returns false if the body cannot be read: the call then ends. */
  push(chunk: Buffer, onEvent: (event: ServerEvent) => void): boolean;
  /** The body is over. */
  end(onEvent: (event: ServerEvent) => void): void;
}

/** An upstream of a checked config. Its settings, keys among them, are known to its adapter alone. */
export interface LoadedUpstream extends UpstreamConfig {
  createAdapter(): UpstreamAdapter;
}
