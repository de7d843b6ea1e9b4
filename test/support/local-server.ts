import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";

/** An HTTP server on a free port of this machine. */
export interface LocalServer {
  readonly port: number;
  readonly url: string;
  /** Cuts its connections. */
  stop(): Promise<void>;
}

export async function startLocalServer(handle: RequestListener): Promise<LocalServer> {
  const server = createServer(handle);
  // If the gateway of a test fails to start, this server must not keep the process alive.
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  const { port } = address;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
