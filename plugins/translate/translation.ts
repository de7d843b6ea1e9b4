import {
  type Call,
  isRefusal,
  type Model,
  type Protocol,
  type Refusal,
  RequestBody,
  type Services,
} from "../../core/plugin/index.ts";
import { readableBody, readerOf } from "./native.ts";
import type { Translated } from "./notes.ts";
import { ReplyTranslation } from "./reply-translation.ts";
import type { BackFacts } from "./sides.ts";
import { RefusableState } from "./state/refused.ts";
import type { StateSeal } from "./state/seal.ts";
import { ShortenedConversation } from "./summary/shorten.ts";
import { routesTo, targetOf } from "./targets.ts";
import { textCharacters } from "./text-characters.ts";
import type { ThreadInput, ThreadResult } from "./thread.ts";
import { translateRequest } from "./translate-request.ts";

type Route = Model["routes"][number];

const THREAD = new URL("./thread.js", import.meta.url);

/**
 * A request with refused state, or a conversation that is too long for a summary, goes out again only up to this size: this
 * thread parses its items then, and all other calls wait.
 */
const SENT_AGAIN_BYTES_MAX = 4 * 1_048_576;

/** The request for a route, or why it cannot be made. */
type Made = Translated<RequestBody, BackFacts>;

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request.
 */
export class Translation extends ReplyTranslation {
  private readonly state = new RefusableState();
  private readonly conversation = new ShortenedConversation();
  private latest: Made | undefined = undefined;

  constructor(
    client: Protocol,
    to: Protocol,
    model: Model,
    services: Services,
    seal: StateSeal,
    private readonly make: (route: Route) => Made | undefined,
    protected readonly characters: () => number,
  ) {
    super(client, to, model, services, seal);
  }

  /**
   * Returns the request for the best route that can express it, otherwise why the best route
   * cannot. Returns undefined if no route speaks the protocol.
   */
  first(): Made | undefined {
    let refused: Made | undefined;
    for (const route of routesTo(this.to, this.model, this.services)) {
      const made = this.madeFor(route);
      if (made?.ok) return made;
      refused ??= made;
    }
    return refused;
  }

  bodyFor(route: Route): RequestBody | undefined {
    const made = this.madeFor(route);
    return made?.ok ? this.conversation.fit(this.state.fit(made.body)) : undefined;
  }

  /** As in `UpstreamRequest`: only Responses has state that a provider refuses, and only a summary may leave turns out. */
  sendsAgain(status: number, text: string): boolean {
    const { latest } = this;
    if (!latest?.ok || latest.body.length > SENT_AGAIN_BYTES_MAX) return false;
    if (latest.context.summaryFor !== undefined) {
      return this.conversation.sendsAgain(this.error(status, text), latest.body);
    }
    return this.to === "responses" && this.state.sendsAgain(status, text);
  }

  /** Drops the bytes: a reply may stream for minutes. No other route is tried from now on. */
  release(): void {
    if (this.latest?.ok) this.latest.body.free();
  }

  /** Returns the request for a route, whose reply is translated from now on. */
  private madeFor(route: Route): Made | undefined {
    const made = this.make(route);
    if (made?.ok) this.use(made.dropped, made.context);
    this.latest = made;
    return made;
  }
}

/** Translates a request: a long one in a thread, for all routes at once. Returns the refusal of the threads. */
export function translationOf(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Translation | Promise<Translation | Refusal> {
  return call.body.isLong
    ? translatedInThread(call, model, services, seal, to)
    : translatedHere(call, model, services, seal, to);
}

export function translatedHere(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Translation {
  const client = call.endpoint.protocol;
  // A translated reply names the model that serves the call, whatever name was sent.
  const body = { ...readableBody(call.body.json(), client, readerOf(model)), model: model.id };
  /** The latest result: it is needed more than once for each route, and a body may be large. */
  let latest: { readonly route: Route; readonly made: Made } | undefined;
  const make = (route: Route) => {
    if (latest?.route === route) return latest.made;
    const target = targetOf(route, model, services, client, to, accountOf(call));
    const result = translateRequest(body, target, seal);
    const made = result.ok ? { ...result, body: RequestBody.of(result.body) } : result;
    latest = { route, made };
    return made;
  };
  const characters = () => textCharacters(body);
  return new Translation(client, to, model, services, seal, make, characters);
}

async function translatedInThread(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Promise<Translation | Refusal> {
  const client = call.endpoint.protocol;
  const forms = new Map<string, Route[]>();
  for (const route of routesTo(to, model, services)) {
    const form = JSON.stringify(targetOf(route, model, services, client, to, accountOf(call)));
    forms.set(form, [...(forms.get(form) ?? []), route]);
  }
  const targets = [...forms.keys()].map((form) => JSON.parse(form));
  const { bodyThreads, bodyMeasures } = services;
  const input: ThreadInput = {
    ...{ reader: readerOf(model), targets, sealKey: seal.key, measures: bodyMeasures.all },
    keepsNumbers: call.body.keepsNumbers,
  };
  const bytes = call.body.bytes();
  const result = await bodyThreads.run<ThreadResult>(call, THREAD, input, bytes, true);
  if (isRefusal(result)) return result;
  const bodies = result.bodies.map((parts) => RequestBody.from(parts));
  const made = new Map<Route, Made>();
  for (const [at, routes] of [...forms.values()].entries()) {
    const one = result.made[at];
    const body = one?.ok ? bodies[one.body] : undefined;
    for (const route of routes) {
      if (one?.ok && body) made.set(route, { ...one, body });
      else if (one && !one.ok) made.set(route, one);
    }
  }
  const make = (route: Route) => made.get(route);
  return new Translation(client, to, model, services, seal, make, () => result.characters);
}

function accountOf({ key }: Call): string {
  return key?.accountId ?? "";
}
