import { MovementPending } from "../../money/ledger.ts";
import { codeOf } from "../../process/thrown.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../../wire/refusal.ts";
import type { Customer } from "../guards.ts";
import type { Services } from "../services.ts";
import { audit } from "./audit.ts";
import type { PlainRequest, PlainResponse, Router } from "./router.ts";

/** A JSON route of a plugin, for operators, for signed-in customers, or public. */
interface JsonRoute<Visitor> {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path after the prefix that all routes of the plugin share. */
  readonly path: string;
  handle(request: PlainRequest, visitor: Visitor): Promise<PlainResponse | Refusal>;
}

export type OperatorRoute = JsonRoute<"operator">;
export type CustomerRoute = JsonRoute<Customer>;
export type PublicRoute = JsonRoute<"public">;

const BODY_BYTES_MAX = 64 * 1024;
const JSON_HEADERS = ["content-type", "application/json", "cache-control", "no-store"];
const PING_TIMEOUT_MS = 1000;
/** The SQLSTATE of a statement that the database has ended because it took too long. */
const STATEMENT_TIMEOUT = "57014";
const PENDING =
  "The ledger has it, and the balances do not show it yet. Try again: it counts once, even if it is sent twice.";
const SLOW =
  "A statement took the ledger too long: it is slow, or another session locks its tables. Try again: what was finished " +
  "is kept, and a credit counts once, even if it is sent twice.";

/**
 * Adds routes for operators, under `prefix`. Every request but a GET is recorded in the audit trail
 * before it is carried out. If it cannot be recorded, it is not carried out.
 */
export function addOperatorRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly OperatorRoute[],
): void {
  const audited = routes.map((route): OperatorRoute => {
    if (route.method === "GET") return route;
    const action = `${route.method} ${prefix}${route.path}`;
    return { ...route, handle: (request) => audit(services, action, route, request) };
  });
  const enter = async (request: PlainRequest) => {
    return (await services.guards.operator.current(request)) ?? "operator";
  };
  add(router, services, prefix, audited, enter, true);
}

/** Adds routes for signed-in customers, under `prefix`. The handler gets the customer. */
export function addCustomerRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly CustomerRoute[],
): void {
  add(router, services, prefix, routes, (request) => services.guards.customer.current(request));
}

/** Adds routes without an access check, under `prefix`. */
export function addPublicRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly PublicRoute[],
): void {
  add(router, services, prefix, routes, async () => "public");
}

function add<Visitor>(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly JsonRoute<Visitor>[],
  enter: (request: PlainRequest) => Promise<Visitor | Refusal>,
  forOperators = false,
): void {
  for (const route of routes) {
    router.add({
      method: route.method,
      path: prefix + route.path,
      forOperators,
      access: "own",
      bodyBytesMax: BODY_BYTES_MAX,
      handler: async (request) => {
        const result = await serve(services, route, request, enter);
        return isRefusal(result) ? refused(completeRefusal(result)) : result;
      },
    });
  }
}

async function serve<Visitor>(
  services: Services,
  route: JsonRoute<Visitor>,
  request: PlainRequest,
  enter: (request: PlainRequest) => Promise<Visitor | Refusal>,
): Promise<PlainResponse | Refusal> {
  try {
    const visitor = await enter(request);
    return isRefusal(visitor) ? visitor : await route.handle(request, visitor);
  } catch (error) {
    if (error instanceof MovementPending) {
      services.log.warn({ err: error, path: request.path }, "a movement is applied later");
      return refuse.unavailable(PENDING);
    }
    // If a store is unreachable, the failure is expected: reply 503. Else it is a bug.
    const store = await unreachableStore(services);
    if (store === undefined && codeOf(error) === STATEMENT_TIMEOUT) {
      services.log.warn({ err: error, path: request.path }, "a statement took too long");
      return refuse.unavailable(SLOW);
    }
    if (store === undefined) throw error;
    services.log.warn(
      { err: error, path: request.path, store },
      "store unavailable during a request; the client gets 503",
    );
    return refuse.unavailable(
      `The ${store} is unavailable; try again shortly. A credit counts once, even if it is sent twice.`,
    );
  }
}

async function unreachableStore({
  holdStore,
  ledger,
}: Services): Promise<"hold store" | "ledger" | undefined> {
  if (holdStore.health().kind !== "ok") return "hold store";
  try {
    await ledger.ping(PING_TIMEOUT_MS);
    return undefined;
  } catch {
    return "ledger";
  }
}

/** Returns a JSON response that caches must not store: it may hold a key. */
export function done(
  body: unknown,
  status: 200 | 201 | 202 = 200,
  headers: readonly string[] = [],
): PlainResponse {
  return { status, headers: [...JSON_HEADERS, ...headers], body: JSON.stringify(body) };
}

function refused({ status, type, message, param, code, headers }: Refusal): PlainResponse {
  const body = JSON.stringify({ error: { type, message, param, code } });
  return { status, headers: [...JSON_HEADERS, ...headers], body };
}
