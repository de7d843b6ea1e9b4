import type { PlainRequest, PlainResponse } from "../../core/http/router.ts";
import { Refusal } from "../../core/refusal.ts";

/** What a route answers where it does not refuse. */
export interface Done {
  readonly status: 200 | 201;
  readonly body: unknown;
}

/** A route of the admin API, after the token was checked. */
export interface AdminRoute {
  readonly method: "GET" | "POST";
  /** Below `/admin/v1`. */
  readonly path: string;
  handle(request: PlainRequest): Promise<Done | Refusal>;
}

export function done(body: unknown, status: Done["status"] = 200): Done {
  return { status, body };
}

export function unknownAccount(id: string): Refusal {
  return notFound(`There is no account ${shown(id)}: \`account list\` shows them all.`, "account");
}

export function notFound(message: string, param: string): Refusal {
  return new Refusal(404, "not_found_error", message, { param });
}

/** The request is sound, but what is there already stands in its way. */
export function conflict(code: string, message: string, param: string | null = null): Refusal {
  return new Refusal(409, "invalid_request_error", message, { code, param });
}

/** A result or a refusal as the response that tells of it. Answers may hold keys, so nobody may store them. */
export function respond(result: Done | Refusal): PlainResponse {
  const headers = ["content-type", "application/json", "cache-control", "no-store"];
  if (!(result instanceof Refusal)) {
    return { status: result.status, headers, body: JSON.stringify(result.body) };
  }
  const { status, type, message, param, code } = result;
  const body = JSON.stringify({ error: { type, message, param, code } });
  return { status, headers: [...headers, ...result.headers], body };
}

/** What a caller sent, short enough for a message. */
function shown(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
