import { ApiError, errorOf } from "./api-error.ts";

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Sends a request to an API. Rejects with an `ApiError` that says why it was refused, or that no reply came. */
export async function request<Answer>(
  path: string,
  init: RequestInit,
  body?: object,
): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (body) headers.set("content-type", "application/json");
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(path, { ...init, headers, body: body ? JSON.stringify(body) : null });
    answer = await response.json().catch(() => ({}));
  } catch {
    throw new ApiError(0, null, "unreachable", null);
  }
  if (!response.ok) throw errorOf(response, answer);
  return answer as Answer;
}

/** Adds a query to a path. Empty values are left out. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
