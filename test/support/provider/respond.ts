import { STATUS_CODES } from "node:http";
import { makeAnswer } from "./answer.ts";
import { type Ask, isProblem, type Problem, problem, readJson } from "./ask.ts";
import type { Directive } from "./directive.ts";
import { findDirective } from "./find-directive.ts";
import { readForm } from "./form.ts";
import type { LiveCall } from "./live-call.ts";
import { givenReply } from "./odd-replies.ts";
import { Plan } from "./plan.ts";
import type { Protocol } from "./protocol.ts";
import type { Head } from "./read-request.ts";
import type { Failures } from "./tally.ts";

const cachedBodyBytesMax = 8_192;
const cachedPlansMax = 2_048;

/** An error as its provider sends it. */
export interface ProviderError {
  readonly status: number;
  readonly body: string;
}

/** The judgement about a request by the rules of its model's provider. */
export interface Verdict {
  readonly error: ProviderError | undefined;
  /**
   * Returns the default behaviour of the model, with its state, for fields that the directive does
   * not set.
   */
  directive(given: Directive): Directive;
}

/** Judges a request. Undefined for an unknown model, for which there are no rules. */
export type Judge = (
  path: string,
  ask: Ask,
  headers: Readonly<Record<string, string>>,
) => Verdict | undefined;

/** Replies to the calls of one protocol. */
export class Responder {
  readonly #protocol: Protocol;
  readonly #failures: Failures;
  readonly #judge: Judge | undefined;
  /** Plans by the bytes of the body, for requests whose reply does not depend on the headers. */
  readonly #plans = new Map<string, Plan>();
  readonly #seen = new Uint32Array(4_096);
  #calls = 0;

  /** `judge` refuses what the provider of a known model refuses. */
  constructor(protocol: Protocol, failures: Failures, judge: Judge | undefined) {
    this.#protocol = protocol;
    this.#failures = failures;
    this.#judge = judge;
  }

  respond(call: LiveCall, head: Head, body: Buffer): void {
    const plan = this.#knownPlan(head, body);
    if ("body" in plan) this.#refuseAsProvider(call, plan);
    else if (!(plan instanceof Plan)) this.#refuse(call, plan);
    else if (plan.plain) call.whole("200 OK", plan.headers, plan.whole(), plan.answer.usage);
    else this.#begin(call, plan);
  }

  #knownPlan(head: Head, body: Buffer): Plan | Problem | ProviderError {
    if (!isCacheable(head, body)) return this.#plan(head, body);
    const key = body.toString("latin1");
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const plan = this.#plan(head, body);
    if (plan instanceof Plan && isRepeatable(plan.answer.directive) && this.#isRepeated(plan)) {
      if (this.#plans.size >= cachedPlansMax) this.#plans.clear();
      this.#plans.set(key, plan);
    }
    return plan;
  }

  /**
   * Returns true if this request was seen recently. Caches a plan only then: caching one that is
   * never used again costs more time in the garbage collector than making it.
   */
  #isRepeated({ answer }: Plan): boolean {
    const print = Number.parseInt(answer.id.slice(0, 8), 16);
    const slot = print % this.#seen.length;
    const repeated = this.#seen[slot] === print;
    this.#seen[slot] = print;
    return repeated;
  }

  #plan(head: Head, bytes: Buffer): Plan | Problem | ProviderError {
    const contentType = head.headers["content-type"] ?? "";
    const isForm = contentType.startsWith("multipart/form-data");
    const body = isForm ? readForm(bytes, contentType) : readJson(bytes);
    if (body === undefined) return problem("We could not parse the body of your request.");
    const ask = this.#protocol.read(body);
    if (isProblem(ask)) return ask;
    const places = {
      model: ask.model,
      key: keyOf(head.headers),
      header: head.headers["x-sim"] ?? "",
      prompt: ask.prompt,
    };
    const found = findDirective(places);
    if (typeof found === "string") return problem(found);
    const verdict = this.#judge?.(this.#protocol.path, ask, head.headers);
    if (verdict?.error) return verdict.error;
    const directive = verdict ? verdict.directive(found) : found;
    const echo =
      directive.echo === "raw"
        ? bytes.toString()
        : directive.echo === true
          ? JSON.stringify({ ...head, body })
          : undefined;
    const salt = directive.unique_ids === true ? (++this.#calls).toString(16) : "";
    return new Plan(this.#protocol, makeAnswer(ask, directive, { bytes, salt, echo }));
  }

  #begin(call: LiveCall, plan: Plan): void {
    const faulty = this.#isFaulty(plan);
    const { delay_ms = 0, until } = plan.answer.directive;
    if (delay_ms === 0) this.#go(call, plan, faulty);
    else call.after(delay_ms, () => this.#go(call, plan, faulty), until);
  }

  #go(call: LiveCall, plan: Plan, faulty: boolean): void {
    const { directive, id, usage } = plan.answer;
    const status = directive.status ?? (hasFault(directive) ? undefined : 503);
    if (faulty && directive.hang === true) return;
    const good = statusLine(directive.reply_status ?? 200);
    const given = givenReply(directive);
    if (faulty && directive.reset === true) call.destroy();
    else if (faulty && status !== undefined) this.#fail(call, directive, status, id);
    else if (given) call.whole(good, ["content-type", given.type], Buffer.from(given.body), usage);
    else if (plan.streamed) call.stream(plan, plan.script(faulty), good);
    else if (faulty && directive.cut_after_events !== undefined) {
      call.half(good, plan.headers, plan.whole());
    } else call.whole(good, plan.headers, plan.whole(), usage);
  }

  /** Returns true if the faults of the directive apply to this call. */
  #isFaulty({ answer: { directive, ask } }: Plan): boolean {
    if (directive.when_model !== undefined && directive.when_model !== ask.model) return false;
    if (directive.fail_times === undefined) return hasFault(directive);
    return this.#failures.isAmongFirst(directive.key ?? "", directive.fail_times);
  }

  #fail(call: LiveCall, directive: Directive, status: number, id: string): void {
    const body = directive.body ?? this.#protocol.error(status, directive, id);
    const headers = ["content-type", directive.content_type ?? "application/json"];
    if (directive.retry_after !== undefined) {
      headers.push("retry-after", String(directive.retry_after));
    }
    headers.push(...Object.entries(directive.headers ?? {}).flat());
    call.whole(statusLine(status), headers, Buffer.from(body));
  }

  #refuseAsProvider(call: LiveCall, { status, body }: ProviderError): void {
    call.whole(statusLine(status), ["content-type", "application/json"], Buffer.from(body));
  }

  #refuse(call: LiveCall, { problem: message, param }: Problem): void {
    this.#fail(call, { error: { message, param } }, 400, "0".repeat(24));
  }
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? "Other"}`;
}

/** Returns true if no header can change the reply. */
function isCacheable({ headers }: Head, body: Buffer): boolean {
  return (
    body.length <= cachedBodyBytesMax &&
    headers["x-sim"] === undefined &&
    headers["anthropic-beta"] === undefined &&
    headers["content-type"]?.startsWith("application/json") === true &&
    !keyOf(headers).startsWith("sim:")
  );
}

function keyOf(headers: Readonly<Record<string, string>>): string {
  return headers["x-api-key"] ?? headers["authorization"]?.replace(/^Bearer /i, "") ?? "";
}

/** Returns true if the reply depends on the request's body alone. */
function isRepeatable(directive: Directive): boolean {
  return !directive.echo && directive.unique_ids !== true;
}

function hasFault(directive: Directive): boolean {
  return (
    directive.status !== undefined ||
    directive.hang === true ||
    directive.reset === true ||
    directive.cut_after_events !== undefined ||
    directive.end_after_events !== undefined ||
    directive.error_after_events !== undefined
  );
}
