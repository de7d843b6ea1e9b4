import type { Endpoint } from "../catalogue/endpoint.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { ClientWire } from "../wire/wire.ts";
import type { Right } from "./operator.ts";

/** A request to a plugin's own route, with its whole body. */
export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  /** Values of the `:name` parts of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The address of the client, which trusted proxies may state: see `TrustedProxies`. */
  readonly remoteAddress: string;
  /** Attempts are counted by it: the address, or its /64 block, since one customer has all 2^64 addresses of that. */
  readonly addressBlock: string;
  readonly requestId: string;
  /** The API key of the caller, on routes that need one. */
  readonly keyId?: string;
  /** The account of that key. */
  readonly accountId?: string;
  /** The member of a team who uses that key; null if the owner of the account does. */
  readonly memberId?: string | null;
}

/** A signed-in customer. */
export interface Customer {
  /** The account whose keys and calls the request is about. */
  readonly accountId: string;
  /** Set if another customer works on this account: only the keys and calls of the member `id` are his. */
  readonly member?: { readonly id: string; readonly ownAccountId: string };
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly sessionId: string;
}

export interface PlainResponse {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers?: readonly string[];
  /** A text, bytes, or a stream of chunks, which is sent with backpressure. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array | string>;
}

/** Limit for a body that no handler reads: some clients send one with a GET. */
export const UNREAD_BODY_BYTES_MAX = 64 * 1024;

/** Returns a response, or a refusal. A refusal is sent in the error shape of the client's protocol. */
export type PlainHandler = (
  request: PlainRequest,
) => PlainResponse | Refusal | Promise<PlainResponse | Refusal>;

/**
 * A route, with its access check.
 *
 * - `call`: runs every plugin's `admit` and `request`, then an upstream.
 * - `key`: runs `admit` only, which requires a valid API key, then the handler.
 * - `own`: the handler checks access itself.
 * - `public`: no check.
 *
 * There is no default, so that no route is open by oversight.
 */
export type Route = {
  readonly method: string;
  readonly path: string;
  /** True for routes of operators. If the config has `admin.listen`, they are served only there. */
  readonly forOperators?: boolean;
  /** The right that an operator needs. */
  readonly right?: Right;
  /** Of a route that members of teams may use: returns its handler behind their guard. */
  readonly behind?: (guard: (request: PlainRequest) => Promise<Customer | Refusal>) => PlainHandler;
} & (
  | {
      readonly access: "call";
      readonly endpoint: Endpoint;
      /** The protocol of the clients, if a plugin turns their requests into the endpoint's protocol, and replies back. */
      readonly wire?: ClientWire;
    }
  | {
      readonly access: "key" | "own" | "public";
      readonly handler: PlainHandler;
      /** Longest body; default: 64 KB, for a handler that reads none. */
      readonly bodyBytesMax?: number;
    }
);

export type Match =
  | {
      readonly kind: "route";
      readonly route: Route;
      readonly params: Readonly<Record<string, string>>;
    }
  /** `isRest`: only patterns that end with `*` have the path. */
  | { readonly kind: "method"; readonly allowed: readonly string[]; readonly isRest: boolean }
  /** Proxies read such a path as another one. */
  | { readonly kind: "unclear" }
  | { readonly kind: "none" };

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});
const UNCLEAR: Match = { kind: "unclear" };

/** A `.` or `..` between slashes, each of them as it is or encoded. Backslashes are slashes to some programs. */
const DOTS = /(?:^|\/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:\/|\\|%2f|%5c|$)/i;
const BACKSLASH = /\\|%5c/i;
const ENCODED_SLASH = /%2f/i;

/**
 * Finds routes by exact path first, then by pattern: `/admin/accounts/:id`, `/dashboard/*`.
 *
 * A proxy decodes and shortens a path before it decides who may have it, and passes it on as it came. So no route has a
 * path that it may read as another one: with `.` or `..`, or with an encoded slash or a backslash. An encoded slash may
 * stand in the rest of a path that ends with `*`: SDKs write `/v1/models/req%2Fgpt-image-2`.
 */
export class Router {
  private readonly exact = new Map<string, Map<string, Extract<Match, { kind: "route" }>>>();
  private readonly patterns: { parts: readonly string[]; route: Route }[] = [];

  addRoute(route: Route): void {
    if (route.path.includes(":") || route.path.endsWith("*")) {
      this.patterns.push({ parts: route.path.split("/"), route });
      return;
    }
    const methods = this.exact.get(route.path) ?? new Map();
    if (methods.has(route.method)) {
      throw new Error(`two routes for ${route.method} ${route.path}: remove one`);
    }
    methods.set(route.method, { kind: "route", route, params: NO_PARAMS });
    this.exact.set(route.path, methods);
  }

  /** Returns every route, for tests that walk them. */
  all(): Route[] {
    const exact = [...this.exact.values()].flatMap((methods) => [...methods.values()]);
    return [...exact, ...this.patterns].map(({ route }) => route);
  }

  /** Returns a router of the routes for operators, or of the others. */
  part(forOperators: boolean): Router {
    const part = new Router();
    for (const route of this.all()) {
      if ((route.forOperators ?? false) === forOperators) part.addRoute(route);
    }
    return part;
  }

  /** Finds the route of a request. HEAD takes the route of GET, unless it has one of its own. */
  match(method: string, path: string): Match {
    const match = this.find(method, path);
    // A path that is a key of `exact` has none of these.
    if (match.kind === "route" && match.params === NO_PARAMS) return match;
    if (DOTS.test(path) || BACKSLASH.test(path)) return UNCLEAR;
    const isRest = match.kind === "route" && match.route.path.endsWith("*");
    return !isRest && ENCODED_SLASH.test(path) ? UNCLEAR : match;
  }

  private find(method: string, path: string): Match {
    const methods = this.exact.get(path);
    const isHead = method === "HEAD";
    const known = methods?.get(method) ?? (isHead ? methods?.get("GET") : undefined);
    if (known) return known;
    const allowed = new Set(methods?.keys());
    let isRest = allowed.size === 0;
    for (const pattern of this.patterns) {
      const params = matchParts(pattern.parts, path);
      if (!params) continue;
      const { method: taken } = pattern.route;
      if (taken === method || (isHead && taken === "GET")) {
        return { kind: "route", route: pattern.route, params };
      }
      allowed.add(taken);
      isRest &&= pattern.route.path.endsWith("*");
    }
    if (allowed.size === 0) return { kind: "none" };
    return { kind: "method", allowed: [...allowed], isRest };
  }
}

function matchParts(
  parts: readonly string[],
  path: string,
): Readonly<Record<string, string>> | undefined {
  const given = path.split("/");
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    if (part === "*") {
      params["*"] = given.slice(at).join("/");
      return params;
    }
    const value = given[at];
    if (value === undefined) return undefined;
    if (part.startsWith(":")) {
      const decoded = decodedPart(value);
      if (decoded === undefined || decoded === "") return undefined;
      params[part.slice(1)] = decoded;
    } else if (part !== value) return undefined;
  }
  return given.length === parts.length ? params : undefined;
}

/** Returns a part of a path without its percent-encoding; undefined if that is wrong. */
export function decodedPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
