import {
  type JsonObject,
  type Model,
  mergeProfiles,
  type Profile,
  type Protocol,
  type Services,
} from "../../core/plugin/index.ts";
import { stopsBeyond } from "./stops/request.ts";
import type { Target } from "./translate-request.ts";

type Known = Pick<Services, "upstreams">;

/** Returns the routes of a model whose upstreams speak the protocol, the best first. */
export function routesTo(
  to: Protocol,
  model: Model,
  { upstreams }: Known,
): Model["routes"][number][] {
  const routes = model.routes.filter((route) => upstreams.get(route.upstream)?.speaks(to));
  return routes.sort((a, b) => a.priority - b.priority);
}

/** Returns true if a Chat request has stop sequences that a route of its Chat model does not take. */
export function needsCut(
  body: JsonObject,
  protocol: Protocol,
  model: Model,
  { upstreams }: Known,
): boolean {
  if (protocol !== "chat" || model.standard !== "chat" || body["stop"] == null) return false;
  return model.routes.some(({ upstream, profile }) => {
    const merged = mergeProfiles(upstreams.get(upstream)?.config.profile, profile);
    return stopsBeyond(body, "chat", "chat", merged).length > 0;
  });
}

export function targetOf(
  route: Model["routes"][number],
  model: Model,
  { upstreams }: Known,
  client: Protocol,
  to: Protocol,
): Target {
  const upstream = upstreams.get(route.upstream);
  const most = model.maxOutputTokens;
  const known: Profile =
    most === undefined ? {} : { default_max_tokens: most, max_output_tokens: most };
  const profile = { ...known, ...mergeProfiles(upstream?.config.profile, route.profile) };
  return { client, to, profile, maker: profile.maker ?? route.upstream };
}
