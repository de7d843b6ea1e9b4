import {
  type Model,
  mergeProfiles,
  type Profile,
  type Protocol,
  type Services,
} from "../../core/plugin/index.ts";
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
