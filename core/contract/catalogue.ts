import type { MicroVnd } from "./amount.ts";
import type { Profile } from "./profile.ts";

/** What kind of calls a model serves. Chat models have a standard of their own and serve both. */
export type Standard = "messages" | "chat" | "images" | "speech";
export type Channel = "standard" | "aws";
export type Label = "reasoning" | "vision" | "tools" | "streaming";

/** What a model costs. A price of `vnd` đ per million tokens is exactly as many µđ per token. */
export interface Price {
  /** `mtok`: per 1,000,000 input and output tokens; `call`: per call; `image`: per image. */
  readonly unit: "mtok" | "call" | "image";
  /** As the catalogue states it, in đ per `unit`. */
  readonly vnd: number;
  /** What one token, one call or one image costs. */
  readonly microVnd: MicroVnd;
}

/** One way to have a model served. */
export interface Route {
  readonly upstream: string;
  /** The model's name at that upstream. */
  readonly model: string;
  /** Share among the routes of one priority, 1 or more. */
  readonly weight: number;
  /** Lower ones first; higher ones where those fail. */
  readonly priority: number;
  /** What differs here from the profile of the upstream. */
  readonly profile: Profile;
}

/** A catalogue entry. Frozen, and of one shape, since every call reads it. */
export interface Model {
  /** The public id: `claude-opus-5`, `req/…` where priced per call, `svc/…` on the AWS channel. */
  readonly id: string;
  readonly price: Price;
  readonly channel: Channel;
  /** Tokens; undefined for models that have no window. */
  readonly contextWindow: number | undefined;
  /** Tokens; undefined for models that answer with something else. */
  readonly maxOutputTokens: number | undefined;
  readonly labels: ReadonlySet<Label>;
  readonly standard: Standard;
  readonly routes: readonly Route[];
  /** The same for all models of one catalogue, and another one for any other catalogue. */
  readonly catalogueVersion: string;
}

/** The models on offer, in the order of the file. */
export class Catalogue {
  readonly models: readonly Model[];
  private readonly byId: ReadonlyMap<string, Model>;

  constructor(models: readonly Model[]) {
    this.models = Object.freeze([...models]);
    this.byId = new Map(models.map((model) => [model.id, model]));
  }

  /** As usage records name it: a short hash of all entries. Empty if there are none. */
  get version(): string {
    return this.models[0]?.catalogueVersion ?? "";
  }

  get(id: string): Model | undefined {
    return this.byId.get(id);
  }
}
