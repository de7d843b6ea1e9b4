/**
 * The floor: a proxy on uWebSockets.js and undici that looks at nothing. Copies the body once, into memory of its length,
 * and passes it and a whole reply on as bytes. Arguments: its port, the upstream's port.
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

/** One call, which must declare the length of its body. */
class RelayedCall implements Dispatcher.DispatchHandler {
  private readonly body: Buffer;
  private bytes = 0;
  private gone = false;
  private readonly reply: Buffer[] = [];

  constructor(
    private readonly res: HttpResponse,
    private readonly path: string,
    length: number,
  ) {
    this.body = Buffer.allocUnsafeSlow(length);
    res.onAborted(() => {
      this.gone = true;
    });
    res.onData((lent, isLast) => this.onBody(lent, isLast));
  }

  private onBody(lent: ArrayBuffer, isLast: boolean): void {
    this.bytes += Buffer.from(lent).copy(this.body, this.bytes);
    if (!isLast) return;
    const { path, body } = this;
    const headers = ["content-type", "application/json", "authorization", "Bearer bench"];
    agent.dispatch({ origin, path, method: "POST", headers, body }, this);
  }

  onRequestStart(): void {}

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    if (status !== 200) this.fail();
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.reply.push(chunk);
  }

  onResponseEnd(): void {
    if (this.gone) return;
    const whole = Buffer.concat(this.reply);
    this.res.cork(() => this.res.writeHeader("content-type", "application/json").end(whole));
  }

  onResponseError(): void {
    this.fail();
  }

  private fail(): void {
    if (this.gone) return;
    this.gone = true;
    this.res.close();
  }
}

App()
  .post("/*", (res, req) => {
    new RelayedCall(res, req.getUrl(), Number(req.getHeader("content-length")));
  })
  .listen("127.0.0.1", port!, (socket) => {
    if (socket === false) process.exit(1);
    console.log("listening");
  });
