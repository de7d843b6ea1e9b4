import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

/** Issues a token, unless a test makes it wait or refuse. */
export interface TokenServer {
  readonly url: string;
  /** The number of requests. */
  readonly asked: number;
  does: "answer" | "refuse" | "wait";
  /** Replies to the waiting requests. */
  release(): void;
  stop(): Promise<void>;
}

export async function startTokenServer(token: string): Promise<TokenServer> {
  const waiting: ServerResponse[] = [];
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    asked++;
    if (tokens.does === "refuse") response.writeHead(500).end(`no ${token}`);
    else if (tokens.does === "wait") waiting.push(response);
    else response.end(token);
  });
  // If the gateway of a test fails to start, this server must not keep the process alive.
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  const tokens: TokenServer = {
    url: `http://127.0.0.1:${address.port}/token`,
    get asked() {
      return asked;
    },
    does: "answer",
    release() {
      for (const response of waiting.splice(0)) response.end(token);
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return tokens;
}
