import { arrayOf, isObject, type JsonObject, objectOf, parseJson } from "../process/json.ts";
import { providerErrors } from "../wire/provider-error.ts";
import { type Fault, type KnownRefusal, REFUSALS } from "./refusals.ts";

/** A refusal of a provider. Never its text, which may quote the request or name the operator's account. */
export interface Refused {
  /** The status of the reply; 200 if the error came in the body of a success. */
  readonly status: number;
  /** The status that it stands for. */
  readonly means: number;
  readonly type: string | undefined;
  readonly code: string | undefined;
  /** The name of the row of `REFUSALS` that matched; `status` if the status alone decided. */
  readonly row: string;
  readonly fault: Fault;
  /** The gateway's own words for the client; undefined if the provider's text may pass. */
  readonly says: string | undefined;
  /** True if another key or route may serve the call. */
  readonly triesOn: boolean;
  /** True if nothing rests for it, but the upstream's breaker counts it. */
  readonly isCounted: boolean;
  /** When the body says to try again, in milliseconds from now; a header may say it as well. */
  readonly retryAfterMs: number | undefined;
}

/** Names that providers give to errors, not statuses. Anything else that comes in their place is not logged. */
const NAME = /^(?![45]\d\d$)[\w.:/-]{1,64}$/;

/**
 * Phrases about the account behind a key. A refusal that has one, and no row, is not passed on: to the provider, the
 * operator is the caller.
 */
const OF_THE_ACCOUNT =
  /\b(?:your|this) (?:api[ _-]?key|account|organi[sz]ation|plan|team|billing|subscription|workspace|credits?|quota)\b|\bapi[ _-]key\b|\bcredit balance\b|\b(?:insufficient|exceeded?|out of) (?:\w+ ){0,2}(?:balance|credits?|quota|funds)\b|\bbilling (?:details|limit|hard)|\barrears\b|\bplease (?:recharge|top ?up)|\b(?:account|organi[sz]ation|workspace)\b.{0,80} (?:is|has been) (?:suspended|restricted|disabled|deactivated|blocked)\b|余额|欠费|充值/i;

const NOT_FOR_CUSTOMERS = "The model's provider refused the request.";

/**
 * Returns whose trouble a refusal is. `text`: the body, or the data of an error event; undefined if it is not known.
 * With status 200 the error's own status counts. `isUnreadPage`: the body is a page, such as one of a proxy, which is not read.
 */
export function refusedBy(status: number, text: string | undefined, isUnreadPage = false): Refused {
  const error = errorIn(text);
  const type = error.types.find((name) => NAME.test(name));
  const code = error.codes.find((name) => NAME.test(name));
  const known = REFUSALS.find((row) => matches(row, status, error));
  const names = [...error.types, ...error.codes];
  const means = status === 200 ? providerErrors.statusOf(names, error.message) : status;
  const stated = { status, means, type, code, retryAfterMs: error.retryAfterMs };
  if (known) {
    const { row, fault, says, elsewhere = false } = known;
    const isOfCaller = fault === "caller";
    // The body of a success may state no status, and clients send a call again after a status of 500 or more.
    const known400 = isOfCaller && means >= 500 ? { means: 400 } : {};
    const isCounted = fault === "upstream";
    return {
      ...stated,
      ...known400,
      row,
      fault,
      says,
      triesOn: !isOfCaller || elsewhere,
      isCounted,
    };
  }
  const fault = faultOf(means);
  const isPage = status !== 200 && !error.isJson;
  // An empty body, or JSON that did not come in time, shows no firewall.
  const hasText = isUnreadPage || (text ?? "").trim() !== "";
  const isCounted = fault === "upstream" || (isPage && hasText && OF_FIREWALLS.has(status));
  const isHidden = fault === "caller" && OF_THE_ACCOUNT.test(error.message);
  const says = isHidden ? NOT_FOR_CUSTOMERS : undefined;
  // A text about an account that no row knows: another provider may serve the call. Nothing rests, since the text may
  // quote the customer's.
  const triesOn = isHidden || isPage || fault !== "caller";
  const row = isHidden ? "words" : "status";
  return { ...stated, row, fault, says, triesOn, isCounted };
}

/** Returns true if a customer must not read it: it may name the operator's account, key or plan. */
export function isForOperator({ fault, says }: Refused): boolean {
  return says !== undefined || (fault !== "caller" && fault !== "upstream");
}

/** Returns the message of a provider's error, which may quote the customer's request; empty if it has none. */
export function messageIn(text: string): string {
  return errorIn(text).message;
}

/** Returns the refusal that the body of a reply with status 200 states, if it states one. */
export function refusedInBody(text: string): Refused | undefined {
  return errorIn(text).isStated ? refusedBy(200, text) : undefined;
}

const FAULTS: Readonly<Record<number, Fault>> = {
  401: "key",
  402: "account",
  403: "access",
  // The gateway chose the address and the model's name.
  404: "model",
  405: "model",
  410: "model",
  // The provider has waited too long, its model has failed (Bedrock), or it has cancelled the call under load
  // (Google: google-gemini/gemini-cli#20309).
  408: "upstream",
  424: "upstream",
  499: "upstream",
  429: "limit",
};

/** With a page, a firewall before the provider sends these for one prompt that it dislikes. The key may be good. */
const OF_FIREWALLS: ReadonlySet<number> = new Set([403, 405]);

/** Returns whose trouble a status is if no row says more. */
function faultOf(status: number): Fault {
  // Providers do not redirect: another server replied at this address.
  return FAULTS[status] ?? (status >= 500 || status < 400 ? "upstream" : "caller");
}

interface StatedError {
  /** False for a page, and for a body that is not known. */
  readonly isJson: boolean;
  /** False for a body that is no error, whatever its fields are named. */
  readonly isStated: boolean;
  readonly types: readonly string[];
  readonly codes: readonly string[];
  readonly message: string;
  readonly retryAfterMs: number | undefined;
}

function matches(row: KnownRefusal, status: number, error: StatedError): boolean {
  if (row.status && !row.status.includes(status) && status !== 200) return false;
  if (row.type !== undefined && !error.types.includes(row.type)) return false;
  if (row.code !== undefined && !error.codes.includes(row.code)) return false;
  return row.words === undefined || row.words.test(error.message);
}

function errorIn(text: string | undefined): StatedError {
  const json = text === undefined ? undefined : parseJson(text);
  const only: unknown = Array.isArray(json) && json.length === 1 ? json[0] : json;
  const root = objectOf(objectOf(only)?.["response"]) ?? objectOf(only) ?? {};
  const [choice] = arrayOf(root["choices"]);
  const stated = root["error"] ?? objectOf(choice)?.["error"];
  const error = isObject(stated) ? stated : {};
  const base = objectOf(root["base_resp"]) ?? {};
  const isFailed =
    root["type"] === "error" || typeof (root["message"] ?? root["detail"]) === "string";
  const rootType = root["type"] === "error" ? undefined : root["type"];
  return {
    isJson: json !== undefined,
    isStated: stated != null || isFailed || (base["status_code"] ?? 0) !== 0,
    types: names(error["type"], error["status"], root["__type"], rootType),
    codes: names(
      ...[error["code"], root["code"], ...reasonsIn(error), base["status_code"]],
      error["http_code"],
    ),
    message: messageOf(stated, error, root, base),
    retryAfterMs: retryDelayIn(error),
  };
}

/** Google says in the details of an error, not in a header, when to try again: `"retryDelay": "34.07s"`. */
function retryDelayIn({ details }: JsonObject): number | undefined {
  for (const detail of arrayOf(details)) {
    const delay = objectOf(detail)?.["retryDelay"];
    const seconds =
      typeof delay === "string" ? /^(\d{1,6}(?:\.\d+)?)s$/.exec(delay)?.[1] : undefined;
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000);
  }
  return undefined;
}

/** Google lists the reasons of an error in its details; Anthropic's are one object. */
function reasonsIn({ details }: JsonObject): unknown[] {
  return [
    objectOf(details)?.["error_code"],
    ...arrayOf(details).map((each) => objectOf(each)?.["reason"]),
  ];
}

function names(...values: readonly unknown[]): string[] {
  const isName = (value: unknown) => typeof value === "string" || typeof value === "number";
  return values.filter((value) => isName(value) && value !== "").map(String);
}

function messageOf(stated: unknown, error: JsonObject, root: JsonObject, base: JsonObject): string {
  const places = [error["message"], stated, root["message"], root["detail"], base["status_msg"]];
  const message = places.find((value) => typeof value === "string" && value !== "");
  // Z.ai puts its code before the message: `[1113][Insufficient balance …]`.
  return typeof message === "string" ? message.replace(/^(?:\[\d+\])+\[?/, "") : "";
}
