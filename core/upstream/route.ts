import type { Model, Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

/**
 * Chooses the next route of a call: the lowest priority number first, by weight among equals. Skips
 * routes that were tried, that do not speak the protocol, or whose breaker is open. If every
 * breaker is open, tries the best route anyway: a refusal would not help the caller.
 */
export function chooseRoute(
  model: Model,
  protocol: Protocol,
  tried: readonly Route[],
  upstreams: ConnectedUpstreams,
  random: () => number = Math.random,
): Route | undefined {
  return (
    pick(model, protocol, tried, upstreams, random, true) ??
    pick(model, protocol, tried, upstreams, random, false)
  );
}

function pick(
  model: Model,
  protocol: Protocol,
  tried: readonly Route[],
  upstreams: ConnectedUpstreams,
  random: () => number,
  healthyOnly: boolean,
): Route | undefined {
  let chosen: Route | undefined;
  let weight = 0;
  for (const route of model.routes) {
    const upstream = upstreams.get(route.upstream);
    if (!upstream?.speaks(protocol) || tried.includes(route)) continue;
    if (healthyOnly && !upstream.breaker.allows) continue;
    if (chosen && route.priority > chosen.priority) continue;
    if (chosen && route.priority < chosen.priority) weight = 0;
    weight += route.weight;
    // Keeping each route with the probability of its share chooses by weight in one pass.
    if (weight === route.weight || random() * weight < route.weight) chosen = route;
  }
  return chosen;
}
