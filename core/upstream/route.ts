import type { Model, Route } from "../catalogue/catalogue.ts";
import { PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import { hashOf } from "../process/hash.ts";
import { type Place, placeOf } from "./conversation.ts";
import type { HttpUpstream } from "./http-upstream.ts";
import type { PooledKey } from "./key-pool.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

/** One way to make an attempt: a route with a key of its upstream. */
export interface Way {
  readonly route: Route;
  readonly upstream: HttpUpstream;
  readonly key: PooledKey;
}

/** The limits of the choice of the next way of a call. */
export interface Wanted {
  readonly model: Model;
  readonly protocol: Protocol;
  /** The conversation of the call, as `conversationOf` names it, or a drawn number. */
  readonly conversation: number;
  /** Routes that cannot serve the call. */
  readonly excluded: readonly Route[];
  /** The ways that failed, the last one at the end. */
  readonly tried: readonly Way[];
  /** True if the last one failed because of its key: another key of the same upstream goes first, once. */
  readonly keyFailed: boolean;
  /** True if the call can also wait for its last attempt: only a way that does not rest is better. */
  readonly canWait?: boolean;
}

/** Two keys that are refused are probably of one account: the others of it would be refused as well. */
const KEYS_FIRST = 2;

/**
 * Chooses the next way of a call: the route with the lowest priority number, by weight among equals, and a key of
 * its upstream. Calls of one conversation stay together. Skips routes that were tried, do not
 * speak the protocol, are switched off, whose breaker is open, or whose keys all rest. If no route is left, another key of
 * one that was tried may serve the call. If all rest, the way that wakes first is tried: a refusal would not help the caller.
 */
export function chooseWay(wanted: Wanted, upstreams: ConnectedUpstreams): Way | undefined {
  const { tried, keyFailed } = wanted;
  const last = tried.at(-1);
  const keys = tried.filter(({ route }) => route === last?.route).length;
  const sameUpstream =
    last && keyFailed && keys < KEYS_FIRST ? wayBy(last.route, wanted, upstreams) : undefined;
  if (sameUpstream) return sameUpstream;
  const route = pick(wanted, upstreams);
  const way = route && wayBy(route, wanted, upstreams);
  return (
    way ??
    (last && anotherKey(wanted, upstreams)) ??
    (wanted.canWait ? undefined : wakesFirst(wanted, upstreams))
  );
}

function pick(wanted: Wanted, upstreams: ConnectedUpstreams): Route | undefined {
  const { model, tried, conversation } = wanted;
  let due: Pick<Way, "route" | "upstream"> | undefined;
  /** Routes of the lowest priority. */
  let places: RoutePlace[] = [];
  for (const route of model.routes) {
    if (tried.length > 0 && tried.some((way) => way.route === route)) continue;
    const upstream = usable(route, wanted, upstreams);
    if (!upstream) continue;
    if (!takesCalls(route, upstream, wanted)) {
      if (upstream.breakers.isDue(route.model)) due = { route, upstream };
      continue;
    }
    if (!upstream.pool.hasAwake(route.model)) continue;
    const lowest = places[0]?.route.priority ?? route.priority;
    if (route.priority > lowest) continue;
    if (route.priority < lowest) places = [];
    places.push(placeBy(route, upstream));
  }
  // No customer waits for a probe if something else can serve the call.
  if (places.length > 0 && due) due.upstream.probe(due.route, wanted.protocol);
  return placeOf(conversation, places)?.route;
}

interface RoutePlace extends Place {
  readonly route: Route;
}

function placeBy(route: Route, { name, pool }: HttpUpstream): RoutePlace {
  const { model, weight } = route;
  return { route, weight, seed: hashOf(model, hashOf(name)), load: pool.callsOf(model) };
}

/** Returns the upstream of a route if it may serve the call: a retry only within the upstream's budget. */
function usable(
  route: Route,
  { protocol, excluded, tried }: Wanted,
  upstreams: ConnectedUpstreams,
): HttpUpstream | undefined {
  const upstream = upstreams.get(route.upstream);
  if (!upstream?.speaks(protocol) || upstream.isOff(route.model)) return undefined;
  if (excluded.length > 0 && excluded.includes(route)) return undefined;
  return tried.length === 0 || upstream.breakers.allowRetries ? upstream : undefined;
}

/** Returns true unless the breaker is open. A model that writes no text is probed by a call. */
function takesCalls(
  { model }: Route,
  { breakers }: HttpUpstream,
  { protocol }: Pick<Wanted, "protocol">,
): boolean {
  const isText = PROTOCOLS[protocol].conversation !== undefined;
  return breakers.allow(model) || (!isText && breakers.isDue(model));
}

function wayBy(route: Route, wanted: Wanted, upstreams: ConnectedUpstreams): Way | undefined {
  const upstream = usable(route, wanted, upstreams);
  if (!upstream || !takesCalls(route, upstream, wanted)) return undefined;
  const key = upstream.pool.awake(route.model, keysTried(route, wanted), wanted.conversation);
  return key && { route, upstream, key };
}

function anotherKey(wanted: Wanted, upstreams: ConnectedUpstreams): Way | undefined {
  for (const { route } of wanted.tried) {
    const way = wayBy(route, wanted, upstreams);
    if (way) return way;
  }
  return undefined;
}

function wakesFirst(wanted: Wanted, upstreams: ConnectedUpstreams): Way | undefined {
  const isRetry = wanted.tried.length > 0;
  let first: Way | undefined;
  let firstMs = 0;
  for (const route of wanted.model.routes) {
    const upstream = usable(route, wanted, upstreams);
    const key = upstream?.pool.wakesFirst(route.model, keysTried(route, wanted));
    if (!upstream || !key) continue;
    const keyMs = upstream.pool.wakesInMs(key, route.model);
    // A key that rests was refused a moment ago, and would be again.
    if (isRetry && keyMs > 0) continue;
    const ms = Math.max(keyMs, upstream.breakers.retryInMs(route.model));
    const isSooner =
      ms < firstMs || (ms === firstMs && route.priority < (first?.route.priority ?? 0));
    if (first && !isSooner) continue;
    first = { route, upstream, key };
    firstMs = ms;
  }
  return first;
}

const NONE: readonly PooledKey[] = [];

function keysTried(route: Route, { tried }: Wanted): readonly PooledKey[] {
  if (tried.length === 0) return NONE;
  return tried.filter((way) => way.route === route).map(({ key }) => key);
}
