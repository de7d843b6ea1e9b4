import { ApiError, errorOf } from "../../page-parts/browser/api-error.ts";
import { pathInTeam } from "./team.ts";

const BASE = "/account/v1";

let csrfToken = "";
let onSignedOut = () => {};
let onSuspended = () => {};

/** Sets the token that every changing request sends to prove that it comes from these pages. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** Sets the listener for the end of the session, called when a request gets 401. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Sets the listener for the suspension of the account. */
export function whenSuspended(listener: () => void): void {
  onSuspended = listener;
}

export function get<Answer>(path: string, query: Record<string, string | undefined> = {}) {
  const given = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return send<Answer>("GET", path + search);
}

export function post<Answer = unknown>(path: string, body: object = {}) {
  return send<Answer>("POST", path, body);
}

export function remove(path: string) {
  return send<unknown>("DELETE", path);
}

/** Returns the URL of a file that the browser downloads by itself. */
export function addressOf(path: string, query: Record<string, string>): string {
  return `${BASE}${pathInTeam(path)}?${new URLSearchParams(query)}`;
}

/** Rejects with the refusal of a file if it would be refused now. */
export async function checkFile(path: string, query: Record<string, string>): Promise<void> {
  try {
    await send("HEAD", `${path}?${new URLSearchParams(query)}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 0) throw error;
    // A reply without a body lacks the reason.
    await get(path, query);
  }
}

async function send<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const sessionToken = csrfToken;
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(BASE + pathInTeam(path), {
      method,
      credentials: "same-origin",
      headers: {
        ...(body && { "content-type": "application/json" }),
        ...(method !== "GET" && method !== "HEAD" && { "x-csrf-token": csrfToken }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    answer = await response.json().catch(() => ({}));
  } catch {
    throw new ApiError(0, null, "unreachable", null);
  }
  if (response.ok) return answer as Answer;
  const error = errorOf(response, answer);
  // A late reply to an ended session says nothing about the one that the customer has begun since.
  const isOfThisSession = sessionToken !== "" && sessionToken === csrfToken;
  // On these paths 401 means a wrong password or no session yet, not that a session ended.
  const meansEnd = !/^\/(?:sign-in|me|password\/change)\b/.test(path);
  if (error.status === 401 && meansEnd && isOfThisSession) onSignedOut();
  if (error.code === "account_suspended" && !path.startsWith("/sign-in")) onSuspended();
  throw error;
}
