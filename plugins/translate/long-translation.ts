import {
  type Call,
  isRefusal,
  LONG_BODY_BYTES_MIN,
  type Model,
  type Protocol,
  type Refusal,
  type Services,
  WrittenJson,
} from "../../core/plugin/index.ts";
import { readerOf } from "./native.ts";
import type { Translated } from "./notes.ts";
import { ReplyTranslation } from "./reply-translation.ts";
import type { BackFacts } from "./sides.ts";
import type { StateSeal } from "./state/seal.ts";
import { routesTo, targetOf } from "./targets.ts";
import type { ThreadInput, ThreadResult } from "./thread.ts";

type Route = Model["routes"][number];

const THREAD = new URL("./thread.js", import.meta.url);

/** The request for a route, as a thread has made it. */
type Made = Translated<WrittenJson, BackFacts>;

type Counts = Pick<ThreadResult, "measured" | "characters">;
const NOTHING: Counts = { measured: {}, characters: 0 };

/** Returns true if a thread translates the request. A body that a plugin has read as a whole stays on this thread. */
export function isLong({ outline }: Call): boolean {
  return outline !== undefined && outline.bytes.length >= LONG_BODY_BYTES_MIN;
}

/** Translates a long request in a thread, for all routes of the model. Returns the refusal of the threads. */
export async function translateInThread(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Promise<LongTranslation | Refusal> {
  const client = call.endpoint.protocol;
  const forms = new Map<string, Route[]>();
  for (const route of routesTo(to, model, services)) {
    const form = JSON.stringify(targetOf(route, model, services, client, to));
    forms.set(form, [...(forms.get(form) ?? []), route]);
  }
  const made = new Map<Route, Made>();
  const { outline } = call;
  if (!outline || forms.size === 0) {
    return new LongTranslation(client, to, model, services, seal, made, NOTHING);
  }
  const targets = [...forms.keys()].map((form) => JSON.parse(form));
  const { bodyThreads, bodyMeasures } = services;
  const input: ThreadInput = {
    ...{ reader: readerOf(model), targets, sealKey: seal.key, measures: bodyMeasures.all },
  };
  const result = await bodyThreads.run<ThreadResult>(call, THREAD, input, outline.current);
  if (isRefusal(result)) return result;
  const bodies = result.bodies.map((parts) => new WrittenJson(parts));
  for (const [at, routes] of [...forms.values()].entries()) {
    const one = result.made[at];
    const body = one?.ok ? bodies[one.body] : undefined;
    for (const route of routes) {
      if (one?.ok && body) made.set(route, { ...one, body });
      else if (one && !one.ok) made.set(route, one);
    }
  }
  return new LongTranslation(client, to, model, services, seal, made, result);
}

/** A request that a thread has translated, and its reply, which this thread translates. */
export class LongTranslation extends ReplyTranslation {
  /** The best route comes first. */
  private readonly made: ReadonlyMap<Route, Made>;
  private readonly counts: Counts;

  constructor(
    client: Protocol,
    to: Protocol,
    model: Model,
    services: Services,
    seal: StateSeal,
    made: ReadonlyMap<Route, Made>,
    counts: Counts,
  ) {
    super(client, to, model, services, seal);
    this.made = made;
    this.counts = counts;
  }

  get measured(): Counts["measured"] {
    return this.counts.measured;
  }

  /** As `first` of `Translation`. */
  first(): Made | undefined {
    let refused: Made | undefined;
    for (const [route, made] of this.made) {
      if (made.ok) {
        this.jsonFor(route);
        return made;
      }
      refused ??= made;
    }
    return refused;
  }

  /** Returns the request for a route, whose reply is translated from now on. */
  jsonFor(route: Route): WrittenJson | undefined {
    const made = this.made.get(route);
    if (!made?.ok) return undefined;
    this.use(made.dropped, made.context);
    return made.body;
  }

  /** Drops the bytes: a reply may stream for minutes. No other route is tried from now on. */
  release(): void {
    for (const made of this.made.values()) if (made.ok) made.body.release();
  }

  protected characters(): number {
    return this.counts.characters;
  }
}
