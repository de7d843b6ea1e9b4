import * as v from "valibot";
import { formatVnd } from "../catalogue/amount.ts";
import { MovementPending } from "../money/ledger.ts";
import { isId } from "../process/id.ts";
import { isObject, objectOf, parseJson } from "../process/json.ts";
import { codeOf } from "../process/thrown.ts";
import type { Statement } from "../usage/books.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import { type Operator, type Right, roles } from "./operator.ts";
import type {
  Customer,
  PlainHandler,
  PlainRequest,
  PlainResponse,
  Route,
  Router,
} from "./router.ts";
import type { Services } from "./services.ts";
import type { CustomerGuard } from "./slot.ts";

/** A JSON route of a plugin, for operators, for signed-in customers, or public. */
interface JsonRoute<Visitor> {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path after the prefix that all routes of the plugin share. */
  readonly path: string;
  /** Longest body; default: 64 KB. */
  readonly bodyBytesMax?: number;
  /** Set if members of teams may use it: `handle` then shows and changes only what is of `Customer.member`. */
  readonly forMembers?: boolean;
  handle(request: PlainRequest, visitor: Visitor): Promise<PlainResponse | Refusal>;
}

/** The handler gets the operator, who has the right. */
export interface OperatorRoute extends JsonRoute<Operator> {
  /** The least right that it needs. Default: `read` for a GET, `owner` for a change. */
  readonly right?: Right;
  /**
   * True if an operator must have proved lately who it is, as for money: with it a stolen session takes an account. Default:
   * true for a change with the right refund, money or owner. A function decides by the request.
   */
  readonly needsProof?: true | ((request: PlainRequest) => boolean);
  /** Returns about what an id of the request names: fields for the audit trail, beside its own. `account_id`: whose it is. */
  subject?(
    params: PlainRequest["params"],
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
}
export type CustomerRoute = JsonRoute<Customer>;
export type PublicRoute = JsonRoute<"public">;

/** The key that a request came with. */
interface Caller {
  readonly keyId: string;
  readonly accountId: string;
  /** The member of a team who uses the key. He must not see what others do with the account. */
  readonly memberId: string | null;
}

const BODY_BYTES_MAX = 64 * 1024;
const JSON_HEADERS = ["content-type", "application/json", "cache-control", "no-store"];
const PING_TIMEOUT_MS = 1000;
/** The SQLSTATE of a statement that the database has ended because it took too long. */
const STATEMENT_TIMEOUT = "57014";
const PENDING =
  "One of the stores has it, and the other one does not show it yet. Try again: it counts once, even if it is sent twice.";
const SLOW =
  "A statement took the ledger too long: it is slow, or another session locks its tables. Try again: what was finished " +
  "is kept, and a credit counts once, even if it is sent twice.";

/**
 * Adds routes for operators, under `prefix`. Every request but a GET is recorded in the audit trail before it is
 * carried out. If it cannot be recorded, it is not carried out. An operator without the right of the route is refused.
 */
export function addOperatorRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly OperatorRoute[],
): void {
  for (const route of routes) {
    const isChange = route.method !== "GET";
    const right = route.right ?? (isChange ? "owner" : "read");
    const { needsProof = PROVEN.includes(right) } = route;
    const action = `${route.method} ${prefix}${route.path}`;
    const audited: OperatorRoute = {
      ...route,
      async handle(request, operator) {
        const reply = isChange
          ? await audit(services, action, route, request, operator)
          : await route.handle(request, operator);
        return roles.allow(operator.role, "customers") ? reply : anonymous(reply, operator.name);
      },
    };
    const enter = async (request: PlainRequest) => {
      const operator = await services.guards.operator.current(request);
      if (isRefusal(operator)) return operator;
      const mustProve =
        isChange && (typeof needsProof === "function" ? needsProof(request) : needsProof);
      return missing(operator, right, mustProve) ?? operator;
    };
    const handler = handlerOf(services, audited, enter);
    addRoute(router, prefix, route, { handler, forOperators: true, right });
  }
}

const PROVEN: readonly Right[] = ["refund", "money", "owner"];

/** Returns a refusal if the operator lacks a right, or has to prove once more who it is. */
function missing({ role, needsProof }: Operator, right: Right, mustProve: boolean) {
  if (!roles.allow(role, right)) {
    const allowed = roles.names.filter((name) => roles.allow(name, right)).join(", ");
    return refuse.forbidden(`This needs the role ${allowed}; yours is ${role}.`, {
      code: "role_forbids",
    });
  }
  if (!mustProve || !needsProof) return undefined;
  return refuse.forbidden("Send your password or a code to POST /admin/v1/proof first.", {
    code: "proof_required",
  });
}

const ADDRESS = /[^\s"\\<>(),:;@]+@[^\s"\\<>(),:;@]+/g;
const KEY = /\btg-[\w-]+/g;

/** Returns a reply for an operator who must see neither addresses but `own`, nor the beginnings of keys. A file is refused. */
function anonymous(reply: PlainResponse | Refusal, own: string): PlainResponse | Refusal {
  if (isRefusal(reply) || reply.body === undefined) return reply;
  if (typeof reply.body === "string") {
    const body = reply.body
      .replace(ADDRESS, (address) => (address === own ? own : "…@…"))
      .replace(KEY, "tg-…");
    return { ...reply, body };
  }
  return refuse.forbidden("This file needs a role that sees who customers are.", {
    code: "role_forbids",
  });
}

/** Adds routes for signed-in customers, under `prefix`. The handler gets the customer. */
export function addCustomerRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly CustomerRoute[],
): void {
  for (const route of routes) {
    const behind = (guard: CustomerGuard) => handlerOf(services, route, guard);
    addRoute(router, prefix, route, {
      handler: behind((request) => services.guards.customer.current(request)),
      ...(route.forMembers && { behind }),
    });
  }
}

/** Adds routes without an access check, under `prefix`. `forOperators`: at the address of operators only. */
export function addPublicRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly PublicRoute[],
  { forOperators }: { readonly forOperators: boolean } = { forOperators: false },
): void {
  for (const route of routes) {
    const handler = handlerOf(services, route, async () => "public" as const);
    addRoute(router, prefix, route, { handler, forOperators });
  }
}

/**
 * Adds routes for callers with an API key, under `prefix`. The plugins of calls admit them, so limits of calls count them
 * too. Errors are in the protocol of the caller. The handler gets the ids of the key and of its account.
 */
export function addKeyRoutes(
  router: Router,
  services: Services,
  prefix: string,
  routes: readonly JsonRoute<Caller>[],
): void {
  for (const route of routes) {
    router.addRoute({
      method: route.method,
      path: prefix + route.path,
      access: "key",
      bodyBytesMax: route.bodyBytesMax ?? BODY_BYTES_MAX,
      handler: (request) => serve(services, route, request, callerOf(route.forMembers ?? false)),
    });
  }
}

/** Returns the check of callers. Members of teams use what is for them alone: else they would see other people's money. */
function callerOf(forMembers: boolean) {
  return async ({ keyId, accountId, memberId = null }: PlainRequest): Promise<Caller | Refusal> => {
    if (keyId === undefined || accountId === undefined) {
      return refuse.unauthenticated("An API key is required.", { code: "invalid_api_key" });
    }
    if (memberId === null || forMembers) return { keyId, accountId, memberId };
    return refuse.forbidden(
      "This wallet belongs to the owner of your team. GET /v1/key shows what your key may spend.",
      { code: "wallet_of_team" },
    );
  };
}

function addRoute<Visitor>(
  router: Router,
  prefix: string,
  { method, path, bodyBytesMax = BODY_BYTES_MAX }: JsonRoute<Visitor>,
  own: { readonly handler: PlainHandler } & Pick<Route, "behind" | "forOperators" | "right">,
): void {
  router.addRoute({ method, path: prefix + path, access: "own", bodyBytesMax, ...own });
}

function handlerOf<Visitor>(
  services: Services,
  route: JsonRoute<Visitor>,
  enter: (request: PlainRequest) => Promise<Visitor | Refusal>,
): PlainHandler {
  return async (request) => {
    const result = await serve(services, route, request, enter);
    return isRefusal(result) ? refused(completeRefusal(result)) : result;
  };
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
      services.log.warn({ err: error, path: request.path }, "a movement is completed later");
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
    const safe = route.method === "GET" ? "" : " A credit counts once, even if it is sent twice.";
    return refuse.unavailable(`The ${store} is unavailable; try again shortly.${safe}`);
  }
}

async function unreachableStore({
  status,
}: Services): Promise<"hold store" | "ledger" | undefined> {
  if (status.holdStoreHealth().kind !== "ok") return "hold store";
  try {
    await status.pingLedger(PING_TIMEOUT_MS);
    return undefined;
  } catch {
    return "ledger";
  }
}

/** Returns a JSON response that caches must not store: it may hold a key. */
export function done(body: unknown, status = 200, headers: readonly string[] = []): PlainResponse {
  return { status, headers: [...JSON_HEADERS, ...headers], body: JSON.stringify(body) };
}

function refused({ status, type, message, param, code, headers }: Refusal): PlainResponse {
  return done({ error: { type, message, param, code } }, status, headers);
}

const FIELDS_MAX = 20;
const FIELD_CHARACTERS_MAX = 500;
const CONTROL = /[\p{Cc}\p{Cs}]/u;

/**
 * Runs an operator's action. Writes its row in the audit trail before it, and adds the status of the reply after it.
 */
async function audit(
  { operatorActions, log }: Services,
  action: string,
  route: OperatorRoute,
  request: PlainRequest,
  operator: Operator,
): Promise<PlainResponse | Refusal> {
  const { params, body, remoteAddress } = request;
  const fields = objectOf(parseJson(body.toString())) ?? {};
  // No schema has read the fields yet, and Postgres takes no text with a NUL.
  const isText = (value: unknown) => typeof value === "string" && !CONTROL.test(value);
  const readable = Object.entries(fields).filter(([, value]) => isText(value));
  const about = await route.subject?.(params, Object.fromEntries(readable));
  const { account_id, ...subject } = about ?? {};
  const account = String(params["account"] ?? account_id ?? fields["account"]);
  const id = await operatorActions.begin({
    operator: operator.name,
    remoteAddress,
    action,
    accountId: isId(account) ? account : null,
    // After the body, which could name another one.
    details: {
      ...shortened(fields),
      ...shortened({ ...params, ...subject }),
    },
  });
  const reply = await route.handle(request, operator);
  await operatorActions.end(id, resultOf(reply)).catch((error: unknown) => {
    log.error(
      { err: error, action_id: Number(id) },
      "cannot record the result of an operator action",
    );
  });
  return reply;
}

/** "Continue": the request was answered with a question, and changed nothing. */
const ASKED = 100;
/** "Already reported": it counts once, and had counted before. */
const COUNTED_BEFORE = 208;

/** Returns the status of a reply, as the audit trail has it: what happened, and not only what was sent. */
function resultOf(reply: PlainResponse | Refusal): number {
  if (isRefusal(reply)) return reply.code === "confirmation_needed" ? ASKED : reply.status;
  if (reply.status !== 200 || typeof reply.body !== "string") return reply.status;
  return objectOf(parseJson(reply.body))?.["applied"] === false ? COUNTED_BEFORE : 200;
}

/**
 * Returns the fields of a request, at most 20 of at most 500 characters each: the trail is for reading. Those of an object in it
 * get names such as `limits.day_vnd`; deeper ones are left out.
 */
function shortened(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const short: Record<string, unknown> = {};
  const flat = Object.entries(fields).flatMap(([name, value]) =>
    isObject(value)
      ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one] as const)
      : [[name, value] as const],
  );
  for (const [name, value] of flat.slice(0, FIELDS_MAX)) {
    const isPlain = value === null || typeof value === "number" || typeof value === "boolean";
    if (isPlain) short[cut(name)] = value;
    else if (typeof value === "string") short[cut(name)] = cut(value);
    else if (Array.isArray(value)) short[cut(name)] = cut(value.join(", "));
  }
  return short;
}

function cut(text: string): string {
  return text.slice(0, FIELD_CHARACTERS_MAX);
}

const EMAIL = "an e-mail address of at most 254 characters";

/** An e-mail address in lower case, as accounts have it. */
export const email = v.pipe(
  v.string(EMAIL),
  v.trim(),
  v.toLowerCase(),
  v.maxLength(254, EMAIL),
  v.email(EMAIL),
);

/** Returns the JSON body of a request as the schema transforms it, or a 400 that names the field. */
export function readBody<const T extends v.GenericSchema>(
  schema: T,
  body: Buffer,
): v.InferOutput<T> | Refusal {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return refuse.badRequest(
      "The body is not JSON: send an object, with content-type application/json.",
    );
  }
  return read(schema, value, "The body");
}

/** Returns the query of a request as the schema transforms it, or a 400. Of a repeated name, the last value counts. */
export function readQuery<const T extends v.GenericSchema>(
  schema: T,
  query: URLSearchParams,
): v.InferOutput<T> | Refusal {
  return read(schema, Object.fromEntries(query), "The query");
}

/** Returns a handler that gets the input as the schema transforms it: the body of a POST, else the query. Refuses any other. */
export function reading<const T extends v.GenericSchema, Visitor>(
  schema: T,
  handle: (
    wanted: v.InferOutput<T>,
    request: PlainRequest,
    visitor: Visitor,
  ) => Promise<PlainResponse | Refusal>,
): JsonRoute<Visitor>["handle"] {
  return async (request, visitor) => {
    const isPost = request.method === "POST";
    const wanted = isPost ? readBody(schema, request.body) : readQuery(schema, request.query);
    return isRefusal(wanted) ? wanted : handle(wanted, request, visitor);
  };
}

function read<const T extends v.GenericSchema>(
  schema: T,
  value: unknown,
  whole: string,
): v.InferOutput<T> | Refusal {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const key = issue.path?.map((place) => place.key).join(".");
  if (key === undefined) return refuse.badRequest(`${whole} must be ${issue.message}.`);
  const param = String(key).slice(0, 64);
  if (issue.expected === "never") {
    return refuse.badRequest(`${param}: unknown field; use ${issue.message}.`, param);
  }
  return refuse.badRequest(`${param}: expected ${issue.message}.`, param);
}

/** Text on one line: no control characters, and nothing that UTF-8 cannot encode. */
export function line(charactersMax: number, expected: string) {
  return v.pipe(
    v.string(expected),
    v.trim(),
    v.maxLength(charactersMax, expected),
    v.regex(/^\P{C}+$/u, expected),
  );
}

/** The parts of a wallet in µđ: `balance` is the sum of the three others. */
interface WalletParts {
  readonly balanceMicroVnd: number | bigint;
  readonly heldMicroVnd: number | bigint;
  readonly availableMicroVnd: number | bigint;
  readonly uncommittedMicroVnd: number | bigint;
}

/** Returns a wallet as every API shows it: decimal strings in đồng. */
export function walletJson(wallet: WalletParts) {
  return {
    balance_vnd: formatVnd(wallet.balanceMicroVnd),
    held_vnd: formatVnd(wallet.heldMicroVnd),
    available_vnd: formatVnd(wallet.availableMicroVnd),
    pending_vnd: formatVnd(wallet.uncommittedMicroVnd),
  };
}

/** Returns a statement as every API shows it. `showsReferences`: the names of movements too, which operators may choose. */
export function statementJson(found: Statement, showsReferences: boolean) {
  return {
    opening_vnd: formatVnd(found.openingMicroVnd),
    closing_vnd: formatVnd(found.closingMicroVnd),
    rows: found.rows.map(({ amountMicroVnd, balanceMicroVnd, reference, ...row }) => ({
      ...row,
      ...(showsReferences && { reference }),
      amount_vnd: formatVnd(amountMicroVnd),
      balance_vnd: formatVnd(balanceMicroVnd),
    })),
    cut: found.isCut,
  };
}
