import type { Route, Router } from "../plugin/router.ts";

/** How long a browser may keep the reply to its question before a call, in seconds: the most that Chrome does. */
const KEPT_S = "7200";
const NAMES = /^[\w-]+(?:\s*,\s*[\w-]+)*$/;

/**
 * Lets scripts of other origins make calls with an API key, by CORS (fetch.spec.whatwg.org). Without credentials: cookies
 * are never sent, and pages of customers and operators are not shared.
 */
export class Cors {
  private readonly origins: ReadonlySet<string>;

  /** `*` is every origin. */
  constructor(origins: readonly string[]) {
    this.origins = new Set(origins);
  }

  headersFor(origin: string | undefined): readonly string[] {
    if (this.origins.size === 0) return NO_HEADERS;
    if (this.origins.has("*")) return ["access-control-allow-origin", "*", ...EXPOSED];
    if (origin === undefined || !this.origins.has(origin)) return VARY;
    return ["access-control-allow-origin", origin, ...EXPOSED, ...VARY];
  }

  /** Returns the headers that let a browser make the request that it asks about; undefined if it cannot. */
  preflight(
    router: Router,
    path: string,
    headers: Readonly<Record<string, string>>,
  ): readonly string[] | undefined {
    const shared = this.headersFor(headers["origin"]);
    const method = headers["access-control-request-method"];
    if (!shared.includes("access-control-allow-origin") || method === undefined) return undefined;
    const match = router.match(method, path);
    // A script with a wrong address is to read the 404.
    const isShared =
      match.kind === "route" ? OPENED.has(match.route.access) : match.kind === "none";
    if (!isShared) return undefined;
    const named = headers["access-control-request-headers"]?.trim() ?? "";
    // `*` would leave `authorization` out.
    const taken = NAMES.test(named) ? ["access-control-allow-headers", named] : NO_HEADERS;
    const allowed = ["access-control-allow-methods", method, "access-control-max-age", KEPT_S];
    return [...shared, ...allowed, ...taken];
  }
}

const NO_HEADERS: readonly string[] = [];
const EXPOSED: readonly string[] = ["access-control-expose-headers", "*"];
const VARY: readonly string[] = ["vary", "origin"];

/** Only routes that an API key opens. */
const OPENED: ReadonlySet<Route["access"]> = new Set(["call", "key"]);
