import {
  App,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  us_socket_local_port,
} from "uWebSockets.js";
import { chat } from "./chat.ts";
import { LiveCall } from "./live-call.ts";
import { messages } from "./messages.ts";
import type { Protocol } from "./protocol.ts";
import { type Head, Responder } from "./respond.ts";
import { Failures, Tally } from "./tally.ts";

/** A running simulator. */
export interface Simulator {
  /** The port it listens on, the real one when 0 was asked. */
  readonly port: number;
  /** Stops listening and destroys what is open. */
  close(): void;
}

/** Above the gateway's own 20 MB, so that what passes the gateway passes here. */
const bodyBytesMax = 64 << 20;

const protocols: readonly Protocol[] = [messages, chat];

/**
 * Starts a simulated provider in this thread.
 * Rejects with a sentence for the user when the address is not free.
 */
export function startSimulator({ host, port }: { host: string; port: number }): Promise<Simulator> {
  const app = App();
  const failures = new Failures();
  const tallies: Record<string, Tally> = {};
  for (const protocol of protocols) {
    const tally = new Tally();
    tallies[protocol.path] = tally;
    serve(app, protocol, tally, failures);
  }
  app.get("/healthz", (res) => {
    res.end("ok\n");
  });
  app.get("/_sim/stats", (res) => {
    res.writeHeader("content-type", "application/json").end(JSON.stringify(tallies));
  });
  app.post("/_sim/reset", (res) => {
    failures.clear();
    for (const tally of Object.values(tallies)) tally.reset();
    res.end("ok\n");
  });
  app.any("/*", (res, req) => {
    const message = `Unknown request URL: ${req.getMethod().toUpperCase()} ${req.getUrl()}.`;
    const error = { message, type: "invalid_request_error", param: null, code: "unknown_url" };
    res.writeStatus("404 Not Found").writeHeader("content-type", "application/json");
    res.end(JSON.stringify({ error }));
  });
  return new Promise((resolve, reject) => {
    app.listen(host, port, (socket) => {
      if (socket === false) {
        reject(new Error(`The simulator cannot listen on ${host}:${port}: the port is taken.`));
        return;
      }
      resolve({ port: us_socket_local_port(socket), close: () => app.close() });
    });
  });
}

function serve(app: TemplatedApp, protocol: Protocol, tally: Tally, failures: Failures): void {
  const responder = new Responder(protocol, failures);
  app.post(protocol.path, (res, req) => {
    const call = new LiveCall(res, tally);
    const head = readHead(req);
    readBody(res, call, (body) => responder.respond(call, head, body));
  });
}

function readHead(req: HttpRequest): Head {
  const headers: Record<string, string> = {};
  req.forEach((name, value) => {
    headers[name] = value;
  });
  return { method: req.getMethod(), path: req.getUrl(), headers };
}

/** Most bodies come in one piece, which is lent until the callback returns and needs no copy. */
function readBody(res: HttpResponse, call: LiveCall, then: (body: Buffer) => void): void {
  const earlier: Buffer[] = [];
  let length = 0;
  res.onData((chunk, isLast) => {
    if (call.over) return;
    const lent = Buffer.from(chunk);
    length += lent.length;
    if (length > bodyBytesMax) call.destroy();
    else if (!isLast) earlier.push(Buffer.from(lent));
    else then(earlier.length === 0 ? lent : Buffer.concat([...earlier, lent]));
  });
}
