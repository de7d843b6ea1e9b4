import type { HttpResponse } from "uWebSockets.js";
import type { CallPlan } from "./call-plan.ts";
import type { SimulatedProcess } from "./process.ts";
import { TOKEN_TEXT } from "./provider.ts";
import type { Scheduler } from "./scheduler.ts";

const LATENCY_MS = 2;

/** `whole`: the complete reply arrived. `cut`: the connection was lost. `left`: the client closed it. */
export type ClientEnd = "whole" | "failed" | "refused" | "cut" | "left";

/** One client, its connection, and what it received. */
export class SimulatedClient {
  readonly startedMs: number;
  status = 0;
  text = "";
  end: ClientEnd | undefined;
  endedMs = 0;
  onEnd: () => void = () => {};
  private onAborted: () => void = () => {};
  private onWritable: (offset: number) => boolean = () => true;
  private isCatchingUp = false;
  private isAborted = false;
  private isEnded = false;
  private lastArrivalMs = 0;

  constructor(
    readonly plan: CallPlan,
    readonly callId: string,
    private readonly scheduler: Scheduler,
    private readonly process: SimulatedProcess,
  ) {
    this.startedMs = scheduler.nowMs;
    process.onDeath(() => this.lose());
  }

  /** Output tokens that reached the client. */
  get deliveredTokens(): number {
    return this.text.split(TOKEN_TEXT).length - 1;
  }

  /** Simulates the parts of a uWebSockets.js response that the gateway uses. */
  response(body: Buffer): HttpResponse {
    const { plan, process } = this;
    const mustBeThere = () => {
      if (!process.alive) throw new Error(`${process.name} is dead`);
      if (this.isAborted) throw new Error("a reply is used after its client has left");
    };
    const response = {
      onAborted: (handler: () => void) => {
        this.onAborted = handler;
      },
      onData: (handler: (chunk: ArrayBuffer, isLast: boolean) => void) => {
        const bytes = new Uint8Array(body);
        process.receive(LATENCY_MS, "request body", () => handler(bytes.buffer, true));
      },
      onWritable: (handler: (offset: number) => boolean) => {
        this.onWritable = handler;
      },
      cork: (work: () => void) => {
        mustBeThere();
        work();
      },
      writeStatus: (line: string) => {
        mustBeThere();
        this.later(() => {
          this.status = Number(line.slice(0, 3));
        });
      },
      writeHeader: mustBeThere,
      write: (chunk: Uint8Array | string) => {
        mustBeThere();
        this.add(chunk);
        if (plan.readsAfterMs === 0) return true;
        this.catchUp();
        return false;
      },
      end: (chunk?: Uint8Array | string) => {
        mustBeThere();
        if (chunk !== undefined) this.add(chunk);
        this.isEnded = true;
        this.later(() => this.finish(this.judge()));
      },
      tryEnd: (chunk: Uint8Array) => {
        response.end(chunk);
        return [true, true];
      },
      endWithoutBody: () => response.end(),
      close: () => {
        this.isAborted = true;
        this.later(() => this.finish("cut"));
      },
      pause() {},
      resume() {},
    };
    return response as unknown as HttpResponse;
  }

  /** Closes the connection, from the client or by a cut. */
  leave(end: "left" | "cut"): void {
    if (this.end !== undefined) return;
    this.finish(end);
    this.process.receive(LATENCY_MS, "client left", () => {
      if (this.isEnded || this.isAborted) return;
      this.isAborted = true;
      this.onAborted();
    });
  }

  /** Closes the connection because the gateway died. What it sent before still arrives. */
  private lose(): void {
    if (!this.isEnded && this.end === undefined) this.later(() => this.finish("cut"));
  }

  /** Drains the socket of a slow client, so that it accepts more. */
  private catchUp(): void {
    if (this.isCatchingUp) return;
    this.isCatchingUp = true;
    this.process.receive(this.plan.readsAfterMs, "writable", () => {
      this.isCatchingUp = false;
      if (!this.isAborted && !this.isEnded) this.onWritable(0);
    });
  }

  private judge(): ClientEnd {
    if (this.status !== 200) return this.status === 0 ? "cut" : "refused";
    const isWhole = this.plan.stream
      ? this.text.endsWith("data: [DONE]\n\n")
      : this.text.includes('"finish_reason":"stop"');
    return isWhole ? "whole" : "failed";
  }

  private add(chunk: Uint8Array | string): void {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    this.later(() => {
      this.text += text;
    });
  }

  /** Delivers data in the order in which it was sent. */
  private later(work: () => void): void {
    const atMs = Math.max(this.lastArrivalMs, this.scheduler.nowMs + LATENCY_MS);
    this.lastArrivalMs = atMs;
    this.scheduler.after(atMs - this.scheduler.nowMs, "client reads", () => {
      if (this.end === undefined) work();
    });
  }

  private finish(end: ClientEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.endedMs = this.scheduler.nowMs;
    this.scheduler.trace(`call ${this.plan.number} ${end} ${this.status} ${this.text.length}`);
    this.onEnd();
  }
}
