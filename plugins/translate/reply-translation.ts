import type { Model, Protocol, Services } from "../../core/plugin/index.ts";
import { messagesErrorToChat, type OverflowSizes, type Reply, withChatError } from "./errors.ts";
import { PROTOCOLS } from "./protocols.ts";
import { type BackFacts, onward } from "./sides.ts";
import { type StateSeal, stateOf, summariesOf } from "./state/seal.ts";
import { cutAtStops } from "./stops/reply.ts";
import type { ClientStream, StreamTranslator, WayBack } from "./stream.ts";
import { sealedSummary } from "./summary/reply.ts";

/** Average for English and code, used only for an estimate. */
const CHARACTERS_PER_TOKEN = 4;

/** The hints that a request lost, and the way back of its reply. */
interface Made {
  readonly dropped: readonly string[];
  /** Undefined for a client of Messages on Messages, whose requests are not translated. */
  readonly back: WayBack | undefined;
  readonly awaitsReport: boolean;
}

/** Translates the reply of one call, for the route that was tried last. */
export abstract class ReplyTranslation {
  private latestMade: Made | undefined = undefined;

  constructor(
    protected readonly client: Protocol,
    readonly to: Protocol,
    protected readonly model: Model,
    protected readonly services: Services,
    protected readonly seal: StateSeal,
  ) {}

  /** Characters of the client's request, without images. */
  protected abstract characters(): number;

  /**
   * Client fields that were dropped for the route that was tried last, because they are only hints.
   */
  get dropped(): readonly string[] {
    return this.latestMade?.dropped ?? [];
  }

  reply(body: unknown): Reply<object> {
    return this.latestMade?.back?.reply(body) ?? this.error(502, undefined);
  }

  /** Translates an error reply. `body` is the raw text, JSON or not. */
  error(status: number, body: unknown): Reply<object> {
    const upstream = PROTOCOLS[this.to]?.upstream;
    if (!upstream) return messagesErrorToChat(status, body);
    // OpenAI names the errors of both protocols alike.
    const isAlike = this.to === "responses" && this.client !== "messages";
    const own = isAlike ? withChatError(status, body) : undefined;
    if (own) return own;
    const reply = upstream.error(status, body, () => this.sizes());
    return this.client === "messages" ? reply : messagesErrorToChat(reply.status, reply.body);
  }

  /** Estimates the sizes that an overflow names, for providers that do not say them. */
  private sizes(): OverflowSizes | undefined {
    const window = this.model.contextWindow;
    if (window === undefined) return undefined;
    const tokens = Math.ceil(this.characters() / CHARACTERS_PER_TOKEN);
    return { tokens: Math.max(tokens, window + 1), window };
  }

  /** As `stream`, for a client that gets a whole reply; undefined if the reply needs no change for that. */
  gather(client: ClientStream): StreamTranslator | undefined {
    return this.latestMade?.back?.gather?.(client);
  }

  /** True if only the provider's report says how much a reply that was cut has used. */
  get awaitsReport(): boolean {
    return this.latestMade?.awaitsReport === true && this.model.labels.has("reasoning");
  }

  stream(client: ClientStream): StreamTranslator | undefined {
    return this.latestMade?.back?.stream(client);
  }

  /** Notes the request that goes out: its reply is translated by these facts. */
  protected use(dropped: readonly string[], facts: BackFacts): void {
    const awaitsReport = facts.stops?.awaitsReport === true;
    this.latestMade = { dropped, back: this.wayBack(facts), awaitsReport };
  }

  /** Returns the translation of the reply; undefined for a client of Messages on Messages. */
  private wayBack({ client, upstream, maker, stops, summaryFor }: BackFacts): WayBack | undefined {
    const last = client && PROTOCOLS[this.client]?.client?.way(client, this.services.clock);
    const way = upstream && PROTOCOLS[this.to]?.upstream?.way(upstream, stateOf(this.seal, maker));
    if (stops) return cutAtStops(way, last, stops);
    if (last && summaryFor !== undefined) {
      return sealedSummary(way, last, summariesOf(this.seal, summaryFor));
    }
    return way && last ? onward(way, last) : (way ?? last);
  }
}
