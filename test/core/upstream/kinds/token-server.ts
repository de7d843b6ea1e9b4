import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

/** Gives out a token, unless it is held back or refuses. */
export interface TokenServer {
  readonly url: string;
  /** How often it was asked. */
  readonly asked: number;
  does: "answer" | "refuse" | "wait";
  /** Answers those that wait. */
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
  // A test whose gateway does not start must not wait for its servers.
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
