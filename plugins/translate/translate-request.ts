import type { JsonObject, Profile, Protocol } from "../../core/plugin/index.ts";
import { flatCustomTools } from "./chat/read/tools.ts";
import { chatFacts } from "./chat/sides.ts";
import { edited } from "./edits/index.ts";
import type { Translated } from "./notes.ts";
import { PROTOCOLS } from "./protocols.ts";
import { withUpdates } from "./responses/read/request.ts";
import type { BackFacts } from "./sides.ts";
import { type StateSeal, stateOf, summariesOf } from "./state/seal.ts";
import { mayThink, stopsBeyond, withoutStops } from "./stops/request.ts";
import { asksForSummary, openSummaries, summaryRequest } from "./summary/request.ts";

/** The protocols of both sides, and facts of the route that a request goes to. Plain data. */
export interface Target {
  readonly client: Protocol;
  readonly to: Protocol;
  readonly profile: Profile;
  /** The maker of the model, whose state goes back sealed. */
  readonly maker: string;
  /** The account that summaries are sealed for. */
  readonly accountId: string;
}

/**
 * Translates a request, and edits it to the form that the model of the route accepts. Names the hints
 * that were dropped. The result has its own top-level fields, and may share all others with the body.
 */
export function translateRequest(
  body: JsonObject,
  target: Target,
  seal: StateSeal,
): Translated<JsonObject, BackFacts> {
  const sequences = stopsBeyond(body, target.client, target.to, target.profile);
  const given = sequences.length > 0 && withoutStops(body, target.client, sequences);
  if (given && !given.ok) return given;
  const draft = drafted(given ? given.body : body, target, seal);
  if (!draft.ok) return draft;
  const { dropped, context } = draft;
  const translatedFrom = isPassed(target, body) ? undefined : target.client;
  const made = edited({ ...draft.body }, target.to, target.profile, translatedFrom);
  if (!made.ok) return made;
  const all = [...dropped, ...made.dropped];
  const names = all.length > 0 ? [...new Set(all.map((name) => sentName(name, body)))] : dropped;
  const stops = given ? { sequences, awaitsReport: mayThink(made.body) } : undefined;
  return { ok: true, body: { ...made.body }, dropped: names, context: { ...context, stops } };
}

/** A client of Chat may ask for thinking by either field. */
function sentName(name: string, { reasoning_effort: effort, thinking }: JsonObject): string {
  return name === "reasoning_effort" && effort == null && thinking != null ? "thinking" : name;
}

/** Reads the client's request into Messages, and writes it for the upstream. */
function drafted(body: JsonObject, target: Target, seal: StateSeal): Translated<object, BackFacts> {
  const { client, profile, maker, accountId } = target;
  if (isPassed(target, body)) return passed(body, target);
  const upstream = PROTOCOLS[target.to]?.upstream;
  const isSummary = client === "responses" && asksForSummary(body);
  const asked = isSummary ? summaryRequest(body) : body;
  const opened =
    client === "responses"
      ? withUpdates(openSummaries(asked, summariesOf(seal, accountId)))
      : asked;
  const read = PROTOCOLS[client]?.client?.read(opened, profile, !upstream);
  if (read && !read.ok) return read;
  const given = { body: read?.body ?? body, dropped: read?.dropped ?? [] };
  const back = { maker, stops: undefined, summaryFor: isSummary ? accountId : undefined };
  const context = { ...back, client: read?.context, upstream: undefined };
  if (!upstream) return { ok: true, ...given, context };
  const state = stateOf(seal, maker);
  const made = upstream.write(given.body, { profile, state, client, body: opened });
  if (!made.ok) return made;
  const { facts, kept } = made.context;
  const dropped = [...given.dropped, ...made.dropped].filter((name) => !kept?.has(name));
  return { ok: true, body: made.body, dropped, context: { ...context, upstream: facts } };
}

/** A request in the model's own protocol is translated if the model does not know the kinds of tools that the client has. */
function isPassed({ client, to }: Target, body: JsonObject): boolean {
  return client === to && client !== "responses" && flatCustomTools(body).size === 0;
}

/** Leaves a Chat request as it is: only its reply is translated, to be cut. */
function passed(body: JsonObject, { profile, maker }: Target): Translated<object, BackFacts> {
  const context = { ...chatFacts(body, profile), maker, stops: undefined, summaryFor: undefined };
  const stream_options = { include_usage: true };
  return { ok: true, body: { ...body, stream_options }, dropped: [], context };
}
