import {
  arrayOf,
  type JsonObject,
  objectOf,
  type Profile,
  type Protocol,
} from "../../../core/plugin/index.ts";
import type { Translated } from "../notes.ts";
import { chatProfile } from "../profile.ts";

/** Stop sequences that the gateway cuts at, because the model does not take them. Plain data. */
export interface GatewayStops {
  readonly sequences: readonly string[];
  /** True if the model may think unseen, so that only the provider's report says what the call has used. */
  readonly awaitsReport: boolean;
}

const FIELDS: Readonly<Partial<Record<Protocol, string>>> = {
  messages: "stop_sequences",
  chat: "stop",
};
const SEQUENCES_MAX = 64;
const CHARACTERS_MAX = 1_024;

/** Returns the stop sequences of a request that its model does not take. Responses has none. */
export function stopsBeyond(
  body: JsonObject,
  client: Protocol,
  to: Protocol,
  profile: Profile,
): readonly string[] {
  const given = body[FIELDS[client] ?? ""];
  const list: readonly unknown[] = typeof given === "string" ? [given] : arrayOf(given);
  const stops = list.filter((stop) => typeof stop === "string").filter((stop) => stop !== "");
  if (stops.length < list.filter((stop) => stop !== "").length) return [];
  // Claude refuses stop sequences of white space: BerriAI/litellm#3286.
  if (to === "messages") return stops.filter((stop) => stop.trim() === "");
  const most = client === to ? profile.max_stops : chatProfile(profile).max_stops;
  const takesNone = to === "responses" || profile.stop === false;
  return takesNone || stops.length > (most ?? stops.length) ? stops : [];
}

/** Takes the stop sequences out of a request that are the gateway's to cut at, and asks for a stream instead. */
export function withoutStops(
  body: JsonObject,
  client: Protocol,
  stops: readonly string[],
): Translated<JsonObject, undefined> {
  const field = FIELDS[client] ?? "";
  const reject = (path: string, why: string) =>
    ({
      ok: false,
      reject: { message: `${path}: ${why}`, param: path, code: "unsupported_parameter" },
    }) as const;
  if (stops.length > SEQUENCES_MAX || stops.some((stop) => stop.length > CHARACTERS_MAX)) {
    const most = `${SEQUENCES_MAX} sequences of ${CHARACTERS_MAX} characters`;
    return reject(field, `this model takes at most ${most}`);
  }
  if (Number(body["n"] ?? 1) > 1)
    return reject("n", "with stop sequences, this model gives one choice");
  const { [field]: given, ...rest } = body;
  const kept = (typeof given === "string" ? [given] : arrayOf(given)).filter(
    (stop) => typeof stop === "string" && !stops.includes(stop),
  );
  const left = kept.length > 0 ? { [field]: kept } : {};
  return { ok: true, body: { ...rest, ...left, stream: true }, dropped: [], context: undefined };
}

/** Returns false if a request in the provider's own form switches thinking off. */
export function mayThink(body: JsonObject): boolean {
  const effort = body["reasoning_effort"] ?? objectOf(body["reasoning"])?.["effort"];
  const isOff =
    effort === "none" ||
    body["enable_thinking"] === false ||
    objectOf(body["thinking"])?.["type"] === "disabled";
  return !isOff;
}
