/**
 * The baseline: a minimal proxy on uWebSockets.js and undici. Parses and serialises the request,
 * parses a whole reply once, and passes a stream chunk by chunk. Has no keys, money, retries or
 * log. Arguments: its port, the upstream's port.
 */

import { App, type HttpResponse } from "uWebSockets.js";
import { Agent, type Dispatcher } from "undici";

const [port, upstreamPort] = process.argv.slice(2).map(Number);
const origin = `http://127.0.0.1:${upstreamPort}`;
const agent = new Agent({
  connections: 20_000,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 30_000,
});

type Headers = Record<string, string | string[] | undefined>;

/** One call: reads the body, dispatches it, and handles the response. */
class BareCall implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private type = "application/json";
  private streams = false;
  private headSent = false;
  private gone = false;
  private chunks: Buffer[] = [];
  private current: Buffer | undefined = undefined;

  constructor(
    private readonly res: HttpResponse,
    private readonly path: string,
    private readonly authorization: string,
  ) {
    res.onAborted(() => this.abort());
    res.onData((lent, isLast) => this.onBody(lent, isLast));
  }

  private onBody(lent: ArrayBuffer, isLast: boolean): void {
    if (!isLast || this.chunks.length > 0) this.chunks.push(Buffer.from(Buffer.from(lent)));
    if (!isLast) return;
    const whole = this.chunks.length > 0 ? Buffer.concat(this.chunks) : Buffer.from(lent);
    this.chunks = [];
    const body = JSON.stringify(JSON.parse(whole.toString()));
    const headers = ["content-type", "application/json", "authorization", this.authorization];
    agent.dispatch({ origin, path: this.path, method: "POST", headers, body }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.gone) this.abort();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status !== 200) return this.fail();
    this.type = String(headers["content-type"]);
    this.streams = this.type.startsWith("text/event-stream");
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.gone) return;
    if (!this.streams) {
      this.chunks.push(chunk);
      return;
    }
    this.current = chunk;
    this.res.cork(this.writeChunk);
  }

  onResponseEnd(): void {
    if (this.gone) return;
    if (this.streams) this.res.cork(() => this.res.end());
    else {
      const whole = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
      JSON.parse(whole.toString());
      this.res.cork(() => this.res.writeHeader("content-type", this.type).end(whole));
    }
    this.gone = true;
  }

  onResponseError(): void {
    this.fail();
  }

  private readonly writeChunk = (): void => {
    if (!this.headSent) this.res.writeHeader("content-type", this.type);
    this.headSent = true;
    if (this.res.write(this.current!)) return;
    this.controller?.pause();
    this.res.onWritable(() => {
      this.controller?.resume();
      return true;
    });
  };

  private abort(): void {
    this.gone = true;
    this.controller?.abort(new Error("the client has left"));
  }

  private fail(): void {
    if (this.gone) return;
    this.gone = true;
    if (this.headSent) this.res.close();
    else this.res.cork(() => this.res.writeStatus("502 Bad Gateway").end());
  }
}

App()
  .post("/*", (res, req) => {
    new BareCall(res, req.getUrl(), req.getHeader("authorization"));
  })
  .listen("127.0.0.1", port!, (socket) => {
    if (socket === false) process.exit(1);
    console.log("listening");
  });
