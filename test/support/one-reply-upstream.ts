import { once } from "node:events";
import { createServer } from "node:http";

/**
 * An upstream that sends the same JSON reply to every call, for replies that the simulator never
 * sends.
 */
export async function startOneReplyUpstream(
  reply: object,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(reply));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
