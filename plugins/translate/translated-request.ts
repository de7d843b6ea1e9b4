import type {
  JsonObject,
  Refusal,
  Route,
  Skeleton,
  UpstreamRequest,
} from "../../core/contract/index.ts";
import { PROTOCOLS } from "./protocols.ts";
import type { Translation } from "./translation.ts";

/** A translated request. A plugin that reads `body` or `bodyFor` gets all texts, and may change what they return. */
export class TranslatedRequest implements UpstreamRequest {
  readonly protocol: Translation["to"];
  readonly path: string;
  readonly form: undefined = undefined;
  readonly headers: readonly string[];
  readonly prepare: (() => Promise<Refusal | undefined>) | undefined = undefined;
  outputLimit: number | undefined = undefined;
  wantsUsage = false;
  private readonly translation: Translation;
  private made: JsonObject;

  constructor(translation: Translation, made: JsonObject, headers: readonly string[]) {
    this.protocol = translation.to;
    this.path = PROTOCOLS[translation.to]?.path ?? "";
    this.translation = translation;
    this.made = made;
    this.headers = headers;
  }

  get skeleton(): Skeleton | undefined {
    const { translation } = this;
    const texts = translation.leftOut;
    const treeFor = (route: Route) => translation.bodyFor(route);
    return texts && { texts, tree: this.made, treeFor };
  }

  get body(): JsonObject {
    const whole = this.translation.putTextsBack();
    if (whole) this.made = whole;
    return this.made;
  }

  get bodyFor(): (route: Route) => JsonObject | undefined {
    this.translation.putTextsBack();
    return (route) => this.translation.bodyFor(route);
  }

  sendsAgain(status: number, text: string): boolean {
    return this.translation.sendsAgain(status, text);
  }
}
