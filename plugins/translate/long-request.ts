import type {
  JsonObject,
  Model,
  Skeleton,
  UpstreamRequest,
  WrittenBody,
  WrittenJson,
} from "../../core/plugin/index.ts";
import type { LongTranslation } from "./long-translation.ts";
import { RequestTo } from "./request-to.ts";
import { RefusableState } from "./state/refused.ts";
import type { TranslatedRequest } from "./translated-request.ts";

type Route = Model["routes"][number];

/**
 * A request with refused state goes out again only up to this size: this thread translates it then, and all other calls
 * wait.
 */
const SENT_AGAIN_BYTES_MAX = 4 * 1_048_576;

/**
 * A request that a thread has translated. If a plugin reads `body` or `bodyFor`, or a provider refuses state in it, it is
 * translated again on this thread.
 */
export class LongRequest extends RequestTo implements UpstreamRequest {
  private readonly translation: LongTranslation;
  private readonly bytes: WrittenBody;
  private readonly onThisThread: () => TranslatedRequest;
  private readonly maySendAgain: boolean;
  private again: TranslatedRequest | undefined = undefined;

  constructor(
    translation: LongTranslation,
    json: WrittenJson,
    headers: readonly string[],
    onThisThread: () => TranslatedRequest,
  ) {
    super(translation.to, headers);
    this.translation = translation;
    const { measured } = translation;
    this.bytes = { json, jsonFor: (route) => translation.jsonFor(route), measured };
    this.onThisThread = onThisThread;
    this.maySendAgain = translation.to === "responses" && json.bytes.length <= SENT_AGAIN_BYTES_MAX;
  }

  get written(): WrittenBody | undefined {
    return this.again ? undefined : this.bytes;
  }

  get skeleton(): Skeleton | undefined {
    const skeleton = this.again?.skeleton;
    if (!skeleton) return undefined;
    const treeFor = (route: Route) => this.chosen(route) && skeleton.treeFor(route);
    return { ...skeleton, treeFor };
  }

  get body(): JsonObject {
    return this.translated().body;
  }

  get bodyFor(): (route: Route) => JsonObject | undefined {
    const { bodyFor } = this.translated();
    return (route) => this.chosen(route) && bodyFor(route);
  }

  sendsAgain(status: number, text: string): boolean {
    // Only such a refusal is worth the translation.
    const isWorth = this.maySendAgain && new RefusableState().sendsAgain(status, text);
    if (!this.again && !isWorth) return false;
    return this.translated().sendsAgain(status, text);
  }

  private translated(): TranslatedRequest {
    this.again ??= this.onThisThread();
    return this.again;
  }

  /** Has the reply translated by the facts of this route. */
  private chosen(route: Route): WrittenJson | undefined {
    return this.translation.jsonFor(route);
  }
}
