import type { Route } from "../catalogue/catalogue.ts";
import type { Protocol } from "../catalogue/endpoint.ts";
import type { JsonObject } from "../process/json.ts";
import { scanJson } from "../process/json-scan.ts";
import type { LeftOut } from "../process/left-out.ts";
import { Outline } from "../process/outline.ts";
import { TEXT_FIELDS } from "../process/text-fields.ts";
import type { WrittenJson } from "../process/written-json.ts";
import type { Call, UpstreamRequest } from "./call.ts";

/** A body that goes upstream as the bytes that came, with the changed fields spliced in. */
export interface PassedBody {
  readonly outline: Outline;
  /** The outline's head, or a copy of it with edited fields. Do not change it. */
  readonly tree: JsonObject;
  /** Works as `bodyFor` of the request. */
  readonly treeFor: ((route: Route) => JsonObject | undefined) | undefined;
}

/**
 * A translated body without the long texts of the conversation. Their placeholders may be parts of strings. Core writes the
 * texts as the bytes that came.
 */
export interface Skeleton {
  readonly texts: LeftOut;
  /** The body for the best route. Do not change it. */
  readonly tree: JsonObject;
  /** Works as `bodyFor` of the request. */
  readonly treeFor: (route: Route) => JsonObject | undefined;
}

/** A body that a thread has written. */
export interface WrittenBody {
  /** The body for the best route. */
  readonly json: WrittenJson;
  /** Returns the body for a route; undefined if the request cannot be expressed there. */
  readonly jsonFor: (route: Route) => WrittenJson | undefined;
  /** The results of plugins' measures of `json`, by name: see `services.bodyMeasures`. */
  readonly measured: Readonly<Record<string, unknown>>;
}

/** Returns the outline of a JSON object that is known to be valid, such as one that the gateway has written. */
export function outlineOf(bytes: Buffer): Outline | undefined {
  const most = Number.POSITIVE_INFINITY;
  const scan = scanJson(bytes, TEXT_FIELDS, most, most);
  const outline = typeof scan === "string" ? undefined : Outline.of(bytes, scan);
  return outline instanceof Outline ? outline : undefined;
}

/** Returns the body of a call for reading its fields. Long texts may be left out: the values of `TEXT_FIELDS`. */
export function bodyToRead(call: Pick<Call, "body" | "outline">): JsonObject {
  return call.outline?.tree ?? call.body;
}

/**
 * Returns the body of a call for reading its fields beside the conversation. The turns of a long one may be stand-ins
 * without fields, but only if all are text, thinking or calls of tools.
 */
export function headToRead(call: Pick<Call, "body" | "outline">): JsonObject {
  return call.outline?.head ?? call.body;
}

/**
 * Returns the body of a request as `headToRead` does; undefined for a form. Of a body that a thread has written, the
 * conversation is an empty list, and long tools are empty objects.
 */
export function requestToRead(
  request: Pick<UpstreamRequest, "body" | "passed" | "skeleton" | "written">,
): JsonObject | undefined {
  const { passed, skeleton, written } = request;
  return passed?.tree ?? skeleton?.tree ?? written?.json.head ?? request.body;
}

/** Returns the texts that have placeholders in the body of `requestToRead`. */
export function textsToRead(
  request: Pick<UpstreamRequest, "passed" | "skeleton">,
): LeftOut | undefined {
  return request.passed?.outline.leftOut ?? request.skeleton?.texts;
}

/**
 * A request whose body is passed on. A plugin that reads `body` or `bodyFor` may change what they return, so core then
 * writes the JSON again.
 */
export class PassedRequest implements UpstreamRequest {
  readonly protocol: Protocol;
  readonly path: string;
  readonly passed: PassedBody;
  readonly form: undefined = undefined;
  readonly headers: readonly string[];
  readonly prepare: UpstreamRequest["prepare"] = undefined;
  readonly sendsAgain: UpstreamRequest["sendsAgain"];
  outputLimit: number | undefined = undefined;
  wantsUsage = false;

  constructor(
    protocol: Protocol,
    path: string,
    headers: readonly string[],
    passed: PassedBody,
    sendsAgain?: UpstreamRequest["sendsAgain"],
  ) {
    this.sendsAgain = sendsAgain;
    this.protocol = protocol;
    this.path = path;
    this.headers = headers;
    this.passed = passed;
  }

  get body(): JsonObject {
    this.passed.outline.handOut();
    return this.passed.tree;
  }

  get bodyFor(): ((route: Route) => JsonObject | undefined) | undefined {
    this.passed.outline.handOut();
    return this.passed.treeFor;
  }
}
