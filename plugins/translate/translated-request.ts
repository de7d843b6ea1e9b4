import type { JsonObject, Model, Skeleton, UpstreamRequest } from "../../core/plugin/index.ts";
import { RequestTo } from "./request-to.ts";
import type { Translation } from "./translation.ts";

/** A translated request. A plugin that reads `body` or `bodyFor` gets all texts, and may change what they return. */
export class TranslatedRequest extends RequestTo implements UpstreamRequest {
  private readonly translation: Translation;
  private made: JsonObject;

  constructor(translation: Translation, made: JsonObject, headers: readonly string[]) {
    super(translation.to, headers);
    this.translation = translation;
    this.made = made;
  }

  get skeleton(): Skeleton | undefined {
    const { translation } = this;
    const texts = translation.leftOut;
    const treeFor = (route: Model["routes"][number]) => translation.bodyFor(route);
    return texts && { texts, tree: this.made, treeFor };
  }

  get body(): JsonObject {
    const whole = this.translation.putTextsBack();
    if (whole) this.made = whole;
    return this.made;
  }

  get bodyFor(): (route: Model["routes"][number]) => JsonObject | undefined {
    this.translation.putTextsBack();
    return (route) => this.translation.bodyFor(route);
  }

  sendsAgain(status: number, text: string): boolean {
    return this.translation.sendsAgain(status, text);
  }
}
