import {
  arrayOf,
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Profile,
  type Protocol,
  type RequestBody,
  type Services,
} from "../../core/plugin/index.ts";
import { markOf } from "./state/organisation.ts";
import { stopsBeyond } from "./stops/request.ts";
import { asksForSummary } from "./summary/request.ts";
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

/**
 * Returns true if a Responses request ends with the demand for a compaction, and the model's provider knows none: only OpenAI
 * does. xAI has an endpoint of its own (xAI docs: context compaction).
 */
export function needsSummary(body: RequestBody, model: Model, { upstreams }: Known): boolean {
  // The facts about a conversation that is not read are of one without such a demand.
  if (body.turns || servedByOpenAi(model, upstreams)) return false;
  for (const name of body.standIns) body.read(name);
  return asksForSummary(body.outline);
}

/**
 * Kinds of tools and items that only OpenAI has: those of the client's own machine, how Codex groups its tools, and what its
 * agents say to each other. xAI refuses a request that has one. Its calls are the client's, so they can be functions.
 */
const KINDS_OF_OPENAI = new Set<unknown>([
  ...["custom", "custom_tool_call", "custom_tool_call_output", "namespace", "additional_tools"],
  ...["local_shell", "local_shell_call", "local_shell_call_output"],
  ...["apply_patch", "apply_patch_call", "apply_patch_call_output"],
  ...["tool_search_call", "tool_search_output"],
  ...["agent_message", "configuration_update", "context_compaction"],
]);

/** Returns true if a Responses request has tools or items that the model's provider does not know, although it speaks Responses. */
export function needsFunctions(body: RequestBody, model: Model, { upstreams }: Known): boolean {
  if (servedByOpenAi(model, upstreams)) return false;
  const tools = arrayOf(body.read("tools")).map(typeOf);
  const items = body.turns?.types ?? arrayOf(body.read("input")).map(typeOf);
  return [...tools, ...items].some((type) => KINDS_OF_OPENAI.has(type));
}

function typeOf(entry: unknown): unknown {
  return objectOf(entry)?.["type"];
}

/** Returns true if a provider of the model is OpenAI's own, or one of which nothing else is stated. */
function servedByOpenAi(model: Model, upstreams: Known["upstreams"]): boolean {
  return model.routes.some(({ upstream: name, profile }) => {
    const upstream = upstreams.get(name);
    const { maker = "openai" } = mergeProfiles(upstream?.config.profile, profile);
    return maker === "openai" && upstream?.speaks("responses") === true;
  });
}

/** Returns the organisation at the provider that a route states, or its upstream. */
export function organisationOf(
  { upstream, profile }: Model["routes"][number],
  { upstreams }: Known,
): string | undefined {
  return profile.organisation ?? upstreams.get(upstream)?.config.profile.organisation;
}

/** The terms that the catalogue states of a model, as a profile that any other overrides. */
const termsOfModels = new WeakMap<Model, Profile>();

function termsOf(model: Model): Profile {
  const known = termsOfModels.get(model);
  if (known) return known;
  const most = model.maxOutputTokens;
  const limits = most === undefined ? {} : { default_max_tokens: most, max_output_tokens: most };
  const { input, cached_input, cache_write } = model.price.factors;
  // Customers would pay for marks that they have not set, and win nothing.
  const isDearer = cache_write > input && cached_input >= input;
  const profile: Profile = isDearer ? { ...limits, cache_control: "drop" } : limits;
  termsOfModels.set(model, profile);
  return profile;
}

export function targetOf(
  route: Model["routes"][number],
  model: Model,
  { upstreams }: Known,
  client: Protocol,
  to: Protocol,
  accountId: string,
): Target {
  const upstream = upstreams.get(route.upstream);
  const stated = mergeProfiles(upstream?.config.profile, route.profile);
  const profile = mergeProfiles(termsOf(model), stated);
  const maker = profile.maker ?? route.upstream;
  const { organisation } = profile;
  // As a part of the name, so that its reasoning goes to no other organisation.
  const isOwn = to === "responses" && organisation !== undefined;
  return {
    client,
    to,
    profile,
    maker: isOwn ? `${maker} ${markOf(organisation)}` : maker,
    accountId,
  };
}
