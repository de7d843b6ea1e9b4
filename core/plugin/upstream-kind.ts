/**
 * How to add a kind of upstream, for a provider with other addresses, signatures or stream formats: export
 * `upstreamKind` beside `default` from a plugin's module, or write `core/upstream/kinds/<name>.ts`, add it to
 * `kinds/index.ts`, and run `npm run schema`. `kinds/http-json.ts` is the model; `plugins/README.md` has a small one.
 *
 * A kind has its settings, its protocols, and `create`, which returns the adapter of one upstream. The config then
 * takes and checks `kind: <name>` with these settings. Core does the rest: it chooses the route and the key, fills in
 * the body, sends, retries, reads the reply and charges it. For each attempt it calls `request`, then `authorise`. For
 * each reply it calls `refused` if the status is not 2xx, then `decoder`. Refusals are read by the table in
 * `core/upstream/refusals.ts`.
 */

import type * as v from "valibot";
import type { RequestBody } from "../body/request-body.ts";
import type { Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { Profile } from "../catalogue/profile.ts";
import type { JsonObject } from "../process/json.ts";
import type { ServerEvent } from "../sse/reader.ts";
import type { UpstreamConfig } from "./config.ts";

/** A way to speak to providers. Stateless: what an upstream keeps (the next key, tokens) is in its adapter. */
export interface UpstreamKind<Entries extends v.ObjectEntries = v.ObjectEntries> {
  /** The value of `kind` in the config. */
  readonly name: string;
  /** Schemas of the upstream's keys in the config, besides `kind`, `profile` and `connections`. */
  readonly settings: Entries;
  /** The profile of its upstreams, key by key, unless the config states another. */
  readonly profile?: Profile;
  /**
   * Returns the protocols that an upstream with these settings takes; undefined if the settings do not say. Faulty
   * settings are missing, so that the rest of the config can still be checked.
   */
  protocols(settings: Partial<SettingsOf<Entries>>): ReadonlySet<Protocol> | undefined;
  /**
   * Returns false if what the provider asks for, such as a key, was left empty. The upstream is then not used, and
   * models that only it serves are not offered. Without this method, every upstream is used.
   */
  isConfigured?(settings: SettingsOf<Entries>): boolean;
  /** Creates the adapter of one upstream. Starts nothing: no timer, no connection. */
  create(settings: SettingsOf<Entries>): UpstreamAdapter;
}

/** The settings of a kind, as its schemas return them. */
export type SettingsOf<Entries extends v.ObjectEntries> = v.InferOutput<
  v.StrictObjectSchema<Entries, undefined>
>;

/** One upstream of the config. Builds its requests and reads its replies. */
export interface UpstreamAdapter {
  /**
   * Returns the request for one route, complete but for its credentials. Return undefined if the call cannot be
   * expressed: core then tries the next route.
   */
  request(call: OutgoingCall, route: Route): OutgoingRequest | undefined;
  /** The keys of the upstream. Each conversation has one of them, and one that is refused rests. Without them, there is one account. */
  readonly keys?: readonly string[];
  /**
   * Returns the credentials as headers to add: name, value, name, value. The request is final, so that it can be
   * signed. `nowMs` is milliseconds since the Unix epoch. `key` is the one of `keys` to use.
   *
   * Return a promise only if you have to wait, for a token for example. It has until `limits.connect_seconds`. If it
   * rejects, the attempt fails and core tries the next route. The log gets the error's `code` or `name`, never its
   * message.
   */
  authorise(request: OutgoingRequest, nowMs: number, key: string): string[] | Promise<string[]>;
  /** Called with a status other than 2xx, so that a refused token can be dropped. */
  refused?(status: number): void;
  /**
   * Returns how to read a body; undefined for the way that its content type says. `contentType` is undefined if the
   * upstream sent none.
   */
  decoder?(status: number, contentType: string | undefined): Decoder | undefined;
  /**
   * Returns texts that no customer may see in an error of this upstream: its keys, and the hosts of its addresses.
   * Without this method, only ids of accounts and private hosts are masked.
   */
  hidden?(): readonly string[];
  /** Returns what operators may see. No secrets: the number of keys, not the keys. */
  describe(): JsonObject;
}

/** JSON or a form. To set undefined removes a field. */
export type OutgoingBody = Pick<RequestBody, "read" | "set" | "bytes">;

/** An outgoing call, in the upstream's protocol. */
export interface OutgoingCall {
  readonly protocol: Protocol;
  /** The operation, relative to the base address that the protocol's clients use: `/chat/completions`. */
  readonly path: string;
  readonly stream: boolean;
  /** `application/json`, or multipart/form-data with its boundary. */
  readonly contentType: string;
  /**
   * The complete body, with the route's model, the output limit and the request for usage. It is a copy for this
   * attempt, so that you may set its fields.
   */
  readonly body: OutgoingBody;
  /** Client headers that matter upstream: name, value, name, value. */
  readonly headers: readonly string[];
}

/** A request, sent by POST as it is. The connection adds `host`, from `origin`, and `content-length`. */
export interface OutgoingRequest {
  readonly protocol: Protocol;
  /** `https://api.example.com` */
  readonly origin: string;
  /** The path with the query, if there is one. */
  readonly path: string;
  /** Name, value, name, value; including the content type. */
  readonly headers: readonly string[];
  /** Sent once. Its memory is freed when it has been sent, so nothing else may use it. */
  readonly body: string | Buffer;
}

/**
 * How to read a reply: `events` as server-sent events, `json` as one JSON body, `bytes` as anything else. For `bytes`
 * with an error status, the client gets an error of the gateway instead. A `ReplyDecoder` turns the provider's own
 * stream format into events. Streams of either kind come with status 200 only.
 */
export type Decoder = "events" | "json" | "bytes" | ReplyDecoder;

/** Turns the body of one reply into events of its protocol. The client gets them as `text/event-stream`. */
export interface ReplyDecoder {
  /** Reads a chunk and passes on every complete event. Returns false if the body cannot be read: the call then ends. */
  push(chunk: Buffer, onEvent: (event: ServerEvent) => void): boolean;
  /** Called at the end of the body. */
  end(onEvent: (event: ServerEvent) => void): void;
}

/** An upstream of a checked config. Only its adapter knows its settings, including keys. */
export interface LoadedUpstream extends UpstreamConfig {
  /** The address of its proxy, perhaps with a password, or `none`; undefined for that of the environment. */
  readonly proxy: string | undefined;
  /** Greatest age of a connection. */
  readonly connectionAgeMs: number;
  createAdapter(): UpstreamAdapter;
}
