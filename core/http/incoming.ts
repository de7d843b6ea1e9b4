import type { HttpResponse } from "uWebSockets.js";
import { GONE } from "../contract/call.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../contract/refusal.ts";
import type { PlainHandler } from "../contract/routes/router.ts";
import { atEndOfTurn } from "../process/turn.ts";
import { Exchange } from "../upstream/exchange.ts";
import { wires } from "../wire/index.ts";
import {
  bodyTooLarge,
  boundDeclared,
  declaredLength,
  isChunked,
  parseFormBody,
  parseJsonBody,
  type Reading,
  readBody,
} from "./body.ts";
import { HttpCall } from "./http-call.ts";
import type { OnOver } from "./pipeline.ts";
import type { RequestHead } from "./plain.ts";
import { Reply } from "./reply.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Takes one call from its headers to its upstream: admission while the body still arrives, then the body,
 * then the request plugins, then the exchange. Registers for the client's leaving before anything else.
 */
export class Incoming {
  private readonly res: HttpResponse;
  private readonly runtime: Runtime;
  readonly call: HttpCall;
  private readonly reply: Reply;
  /** A plugin's promise is pending: `close` must wait for it. */
  private waiting = false;
  /** Set once, by whoever refuses first; answered when no plugin is at work. */
  private refusal: Refusal | undefined = undefined;
  private reading: Reading | undefined = undefined;
  /** A chunked body is still arriving: a refusal waits for its end, or for the limit. */
  private sending = false;

  constructor(
    res: HttpResponse,
    runtime: Runtime,
    endpoint: Endpoint,
    headers: Readonly<Record<string, string>>,
    id: string,
    onOver: OnOver,
  ) {
    const { clock } = runtime;
    this.res = res;
    this.runtime = runtime;
    this.call = new HttpCall(id, clock.now(), clock.monotonic(), endpoint, headers);
    this.reply = new Reply(
      res,
      this.call,
      runtime.pipeline,
      runtime.log,
      runtime.limits.replyBytesMax,
      onOver,
    );
    res.onAborted(() => this.clientLeft());
  }

  /** Takes the call through its plugins to its upstream. */
  start(): void {
    this.receive(this.runtime.limits.bodyBytesMax, (body) => this.request(body));
  }

  /** For routes that need a key but no upstream: admission, then the route's own handler. */
  answer(head: RequestHead, bodyBytesMax: number, handler: PlainHandler): void {
    this.reply.headOnly = head.method === "HEAD";
    this.receive(bodyBytesMax, (body) => {
      const { key } = this.call;
      if (!key) return this.notPossibleWithout("auth");
      const kept = Buffer.from(body);
      const handle = async () => {
        const { id: keyId, accountId } = key;
        const response = await handler({ ...head, body: kept, keyId, accountId });
        if (isRefusal(response)) this.refuse(completeRefusal(response));
        else this.reply.answer(response);
      };
      handle().catch((error: unknown) => this.bug(error));
    });
  }

  /** Reads the body while admission runs; `next` gets it when both are through, and only until it returns. */
  private receive(bodyBytesMax: number, next: (body: Buffer) => void): void {
    const length = declaredLength(this.call.headers);
    if (length !== undefined && length > bodyBytesMax) {
      boundDeclared(this.res, length);
      return this.refuse(bodyTooLarge(bodyBytesMax));
    }
    let body: Buffer | undefined;
    let admitted = false;
    this.sending = isChunked(this.call.headers);
    this.reading = readBody(
      this.res,
      bodyBytesMax,
      (whole) => {
        this.sending = false;
        this.call.bodyBytes = whole.length;
        if (this.call.gone) return;
        if (this.refusal) this.refuse(this.refusal);
        else if (admitted) next(whole);
        // Still being admitted.
        else body = Buffer.from(whole);
      },
      () => {
        this.sending = false;
        this.refuse(bodyTooLarge(bodyBytesMax));
      },
    );
    this.run("admit", () => {
      admitted = true;
      if (body) next(body);
    });
  }

  /** Runs one stage of the pipeline, then `next`, unless the call was refused or its client left. */
  private run(stage: "admit" | "request", next: () => void): void {
    try {
      const verdict = this.runtime.pipeline[stage](this.call);
      if (!(verdict instanceof Promise)) return this.decide(verdict, next);
      this.waiting = true;
      verdict
        .finally(() => {
          this.waiting = false;
        })
        .then((decided) => this.decide(decided, next))
        // What follows a late verdict may fail as well, and nobody else would answer the call then.
        .catch((error: unknown) => this.bug(error));
    } catch (error) {
      this.bug(error);
    }
  }

  private decide(verdict: Refusal | undefined, next: () => void): void {
    this.refusal ??= verdict && completeRefusal(verdict);
    if (this.call.gone) this.reply.end(GONE);
    else if (this.refusal) this.refuse(this.refusal);
    else next();
  }

  private request(body: Buffer): void {
    const problem = this.parse(body);
    if (problem) return this.refuse(problem);
    atEndOfTurn("request", () => {
      // Whoever has left meanwhile is closed already.
      if (!this.call.gone) this.run("request", () => this.forward());
    });
  }

  private parse(body: Buffer): Refusal | undefined {
    const { call } = this;
    const type = call.headers["content-type"] ?? "";
    if (type.startsWith("multipart/")) {
      if (!call.endpoint.multipart) return refuse.badRequest("This endpoint takes JSON.");
      const parsed = parseFormBody(body, type);
      if (isRefusal(parsed)) return parsed;
      call.form = parsed.form;
      call.body = parsed.fields;
    } else {
      const parsed = parseJsonBody(body);
      if (isRefusal(parsed)) return parsed;
      call.body = parsed;
    }
    call.stream = call.body["stream"] === true;
    return wires[call.endpoint.protocol].check(call.body);
  }

  private forward(): void {
    const { call, reply, runtime } = this;
    const missing = missingFor(call);
    if (missing !== undefined) return this.notPossibleWithout(missing);
    const { upstreams, clock, log } = runtime;
    const sink = runtime.pipeline.wrap(call, reply);
    const flush = () => reply.flush();
    const bug = (error: unknown) => this.bug(error);
    const exchange = new Exchange(call, sink, flush, bug, upstreams, clock, log);
    call.flow = exchange;
    exchange.start();
  }

  private notPossibleWithout(plugin: string): void {
    this.bug(new Error(`no plugin did the work of "${plugin}": switch it on in the config`));
  }

  private clientLeft(): void {
    this.call.gone = true;
    if (this.call.flow) {
      if (this.call.drainWhenGone) this.call.flow.resume();
      else this.call.flow.cut(GONE);
    } else if (!this.waiting) this.reply.end(GONE);
  }

  private bug(error: unknown): void {
    this.runtime.log.error({ err: error, call_id: this.call.id }, "a plugin failed");
    const message = "The gateway failed to handle this call. Nothing was charged.";
    this.refuse(refuse.failed(message));
  }

  private refuse(refusal: Refusal): void {
    this.refusal ??= refusal;
    this.reading?.discard();
    if (!this.waiting && !this.sending) this.reply.refuse(this.refusal);
  }
}

/** The plugin whose work is missing: without it nobody would be charged, or not rightly, so nobody is served. */
function missingFor(call: HttpCall): string | undefined {
  if (!call.key) return "auth";
  if (!call.model) return "alias";
  if (!call.upstream) return "translate";
  if (!call.usage) return "meter";
  return call.held ? undefined : "settle";
}
