import type { Customer } from "../guards.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../refusal.ts";
import type { Services } from "../services.ts";
import { audit } from "./audit.ts";
import type { PlainRequest, PlainResponse, Router } from "./router.ts";

/** A route of a plugin that speaks JSON, entered by operators, by signed-in customers, or by anybody. */
interface JsonRoute<Visitor> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the prefix that the plugin gives all of them. */
  readonly path: string;
  handle(request: PlainRequest, visitor: Visitor): Promise<PlainResponse | Refusal>;
}

export type OperatorRoute = JsonRoute<"operator">;
export type CustomerRoute = JsonRoute<Customer>;
export type PublicRoute = JsonRoute<"anybody">;

const BODY_BYTES_MAX = 64 * 1024;
const JSON_HEADERS = ["content-type", "application/json", "cache-control", "no-store"];
const PING_TIMEOUT_MS = 1000;

/** Serves operators only, under `prefix`; what is not a GET is noted in the audit trail, or not done. */
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
  add(router, services, prefix, audited, async (request) => {
    return (await services.guards.operator.current(request)) ?? "operator";
  });
}

/** Serves signed-in customers only, each as itself, under `prefix`. */
export function addCustomerRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly CustomerRoute[],
): void {
  add(router, services, prefix, routes, (request) => services.guards.customer.current(request));
}

/** Serves anybody, under `prefix`. */
export function addPublicRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly PublicRoute[],
): void {
  add(router, services, prefix, routes, async () => "anybody");
}

function add<Visitor>(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly JsonRoute<Visitor>[],
  enter: (request: PlainRequest) => Promise<Visitor | Refusal>,
): void {
  for (const route of routes) {
    router.add({
      method: route.method,
      path: prefix + route.path,
      access: "own",
      bodyBytesMax: BODY_BYTES_MAX,
      handler: async (request) => {
        const answer = await serve(services, route, request, enter);
        return isRefusal(answer) ? refused(completeRefusal(answer)) : answer;
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
    // With a store away a route can only fail; with both there the failure is a bug.
    const away = await storeAway(services);
    if (away === undefined) throw error;
    services.log.warn(
      { err: error, path: request.path, store: away },
      "a request found a store away",
    );
    return refuse.unavailable(
      `The ${away} does not answer; try again shortly. A credit counts once, however often it is sent.`,
    );
  }
}

async function storeAway({
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

/** An answer in JSON. Answers may hold keys, so nobody may store them. */
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
