import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { OtlpSpan } from "../../../plugins/traces/otlp.ts";

/** One export request, as the receiver got it. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly serviceName: string;
  readonly spans: readonly OtlpSpan[];
}

export interface TestReceiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The status of the next replies; 0 = none at all. */
  status: number;
  stop(): Promise<void>;
}

/** A receiver of OTLP over HTTP, in JSON, on a port of its own. */
export async function startReceiver(): Promise<TestReceiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const [resource] = JSON.parse(text).resourceSpans;
    received.push({
      path: request.url ?? "",
      headers: request.headers,
      text,
      serviceName: resource.resource.attributes[0].value.stringValue,
      spans: resource.scopeSpans[0].spans,
    });
    if (receiver.status === 0) return;
    response.writeHead(receiver.status, { "content-type": "application/json" });
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  const receiver: TestReceiver = {
    url: `http://127.0.0.1:${address.port}`,
    received,
    status: 200,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}
