import { type LocalServer, startLocalServer } from "./local-server.ts";

/**
 * An upstream that sends the same JSON reply to every call, for replies that the simulator never
 * sends.
 */
export function startOneReplyUpstream(
  reply: object,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Promise<LocalServer> {
  return startLocalServer((request, response) => {
    request.resume();
    request.once("end", () => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(reply));
    });
  });
}
