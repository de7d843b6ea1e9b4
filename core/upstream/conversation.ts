import type { RequestBody } from "../body/request-body.ts";
import { openingOf } from "../body/turns.ts";
import { hashOf } from "../process/hash.ts";
import { isObject } from "../process/json.ts";
import type { ServedCall } from "./served-call.ts";

/** Headers by which agents name a session: Claude Code, Codex, OpenCode and those that follow them. */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "conversation_id",
  "x-session-id",
  "x-session-affinity",
  "x-opencode-session",
] as const;

/** So much of a session's id counts. */
const SESSION_CHARACTERS_MAX = 1_024;
/** A place takes up to half more than its share of the calls in flight, and so many in any case. */
const SHARE_FACTOR = 1.5;
const CALLS_MIN = 8;

/**
 * Returns the id that the client gives the session of a call, if it gives one. Read it before a plugin hides the client's
 * names from the provider.
 */
export function sessionOf(
  headers: Readonly<Record<string, string>>,
  body: RequestBody,
): string | undefined {
  for (const name of SESSION_HEADERS) {
    const id = headers[name];
    if (id !== undefined && id !== "") return id;
  }
  const { prompt_cache_key: part, metadata } = body.outline;
  if (typeof part === "string" && part !== "") return part;
  const user = isObject(metadata) ? metadata["user_id"] : undefined;
  // Claude Code writes its session into the id of the user.
  return typeof user === "string" && user.includes("session") ? user : undefined;
}

type Told = Pick<ServedCall, "session" | "key" | "model" | "body" | "endpoint">;

/**
 * Returns a number that is the same for all calls of one conversation of an account, at every gateway: by the client's
 * session, else by the model and the user's first texts. 0 if nothing tells it, as of images and speech.
 */
export function conversationOf({ session, key, model, body, endpoint }: Told): number {
  const { conversation: field } = endpoint;
  if (field === undefined) return 0;
  const opening = session?.slice(0, SESSION_CHARACTERS_MAX) ?? openingIn(body, field);
  if (opening === "") return 0;
  const account = hashOf(key?.accountId ?? "");
  const of = session === undefined ? hashOf(model?.id ?? "", account) : account;
  return hashOf(opening, of) || 1;
}

/** Returns a number that stands for the conversation of a call that tells none, so that its place is drawn. */
export function drawnConversation(): number {
  return 1 + Math.floor(Math.random() * 0x7fff_ffff);
}

function openingIn(body: RequestBody, field: string): string {
  return body.isRead(field) ? openingOf(body.outline[field]) : (body.turns?.opening ?? "");
}

/** A route or a key that can take a conversation. */
export interface Place {
  readonly seed: number;
  readonly weight: number;
  readonly load: number;
}

/**
 * Returns the place of a conversation, by rendezvous hashing: if a place comes or goes, only the conversations of that
 * place move. Each gets its share by weight. One that has far more calls in flight than its share gives new ones to the
 * next place of their conversation.
 */
export function placeOf<P extends Place>(
  conversation: number,
  places: readonly P[],
): P | undefined {
  let weights = 0;
  let calls = 1;
  for (const { weight, load } of places) {
    weights += weight;
    calls += load;
  }
  let best: P | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const place of places) {
    const { seed, weight, load } = place;
    if (load >= Math.max(CALLS_MIN, (SHARE_FACTOR * calls * weight) / weights)) continue;
    // The highest of -weight / log(random) chooses by weight.
    const score = -weight / Math.log(fractionOf(conversation ^ seed));
    if (score <= bestScore) continue;
    best = place;
    bestScore = score;
  }
  return best;
}

/** Mixes the bits of a hash, as MurmurHash3 ends, into a number between 0 and 1. */
function fractionOf(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
