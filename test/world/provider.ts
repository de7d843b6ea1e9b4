import type { Dispatcher } from "undici";
import { isObject } from "../../core/process/json.ts";
import type { CallPlan } from "./call-plan.ts";
import type { SimulatedProcess } from "./process.ts";

const LATENCY_MS = 3;
/** A little more than one token by the factors of `meter`, so no estimate is below the reported usage. */
export const TOKEN_TEXT = "words";

type Handler = Dispatcher.DispatchHandler;

/** The provider of the models: replies to each call by its plan, over a connection that can be paused. */
export class SimulatedProvider {
  /** Calls `onServed` with the output tokens of each call. */
  constructor(
    private readonly plans: ReadonlyMap<string, CallPlan>,
    private readonly process: SimulatedProcess,
    private readonly onServed: (number: string, tokens: number) => void,
  ) {}

  dispatch(options: { readonly body?: unknown }, handler: Handler): boolean {
    const body: unknown = JSON.parse(String(options.body));
    const plan = isObject(body) ? this.plans.get(String(body["user"])) : undefined;
    if (!plan || !isObject(body)) throw new Error("the provider got a call without a plan");
    const limit = body["max_completion_tokens"] ?? body["max_tokens"];
    const tokensMax = typeof limit === "number" ? limit : Number.POSITIVE_INFINITY;
    const tokens = Math.min(plan.outputTokens, tokensMax);
    this.onServed(plan.number, tokens);
    new ProviderReply(plan, tokens, handler, this.process).begin();
    return true;
  }
}

class ProviderReply implements Dispatcher.DispatchController {
  private readonly waiting: (() => void)[] = [];
  private sent = 0;
  private isPaused = false;
  private isOver = false;

  constructor(
    private readonly plan: CallPlan,
    private readonly tokens: number,
    private readonly handler: Handler,
    private readonly process: SimulatedProcess,
  ) {}

  get paused(): boolean {
    return this.isPaused;
  }

  get aborted(): boolean {
    return this.isOver;
  }

  readonly reason = null;
  readonly rawHeaders = null;
  readonly rawTrailers = null;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    while (!this.isPaused) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      next();
    }
  }

  abort(): void {
    this.isOver = true;
  }

  begin(): void {
    const { plan, handler } = this;
    handler.onRequestStart?.(this, {});
    if (plan.providerStatus !== 200) {
      return this.later(plan.firstByteMs, "refused", () => {
        const type = { "content-type": "application/json" };
        handler.onResponseStart?.(this, plan.providerStatus, type, "");
        this.data('{"error":{"message":"no","type":"sim"}}');
        this.end();
      });
    }
    const type = plan.stream ? "text/event-stream" : "application/json";
    this.later(plan.firstByteMs, "head", () => {
      handler.onResponseStart?.(this, 200, { "content-type": type }, "");
      if (plan.stream) this.chunk();
      else this.whole();
    });
  }

  private whole(): void {
    const { plan, tokens } = this;
    const message = { role: "assistant", content: TOKEN_TEXT.repeat(tokens) };
    const usage = this.usage();
    this.later(tokens * plan.msPerToken, "reply", () => {
      if (plan.breaksAfterTokens < tokens) return this.fail();
      this.data(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
      this.end();
    });
  }

  /** Sends the chunks of a stream one after another, then the usage and the end. */
  private chunk(): void {
    const { plan, tokens } = this;
    if (this.sent >= plan.breaksAfterTokens) return this.later(1, "broke", () => this.fail());
    const count = Math.min(plan.tokensPerChunk, tokens - this.sent);
    if (count > 0) {
      return this.later(count * plan.msPerToken, "chunk", () => {
        this.sent += count;
        this.data(event({ choices: [{ index: 0, delta: { content: TOKEN_TEXT.repeat(count) } }] }));
        if (!this.isOver) this.chunk();
      });
    }
    this.later(1, "end", () => {
      const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
      const usage = plan.reportsUsage ? event({ choices: [], usage: this.usage() }) : "";
      this.data(`${event(last)}${usage}data: [DONE]\n\n`);
      this.end();
    });
  }

  private usage() {
    const { plan, tokens } = this;
    return { prompt_tokens: plan.inputTokens, completion_tokens: tokens };
  }

  private data(text: string): void {
    if (!this.isOver) this.handler.onResponseData?.(this, Buffer.from(text));
  }

  private end(): void {
    if (!this.isOver) this.handler.onResponseEnd?.(this, {});
  }

  private fail(): void {
    if (!this.isOver) this.handler.onResponseError?.(this, new Error("other side closed"));
  }

  /** Delivers in order; while the connection is paused, nothing arrives. */
  private later(ms: number, what: string, work: () => void): void {
    this.process.receive(LATENCY_MS + ms, `provider ${what}`, () => {
      if (this.isOver) return;
      if (this.isPaused) this.waiting.push(work);
      else work();
    });
  }
}

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
