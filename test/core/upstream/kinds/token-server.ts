import type { ServerResponse } from "node:http";
import { startLocalServer } from "../../../support/local-server.ts";

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
  const server = await startLocalServer((request, response) => {
    request.resume();
    asked++;
    if (tokens.does === "refuse") response.writeHead(500).end(`no ${token}`);
    else if (tokens.does === "wait") waiting.push(response);
    else response.end(token);
  });
  const tokens: TokenServer = {
    url: `${server.url}/token`,
    get asked() {
      return asked;
    },
    does: "answer",
    release() {
      for (const response of waiting.splice(0)) response.end(token);
    },
    stop: server.stop,
  };
  return tokens;
}
