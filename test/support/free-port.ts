import { once } from "node:events";
import { createServer } from "node:net";

/** A port that nobody listened on a moment ago. Whoever uses it should be ready to be beaten to it. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
