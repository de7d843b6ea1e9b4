import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ephemeral ports, because an outgoing connection could take one while a server restarts.
 */
const PORT_MIN = 11_000;
const PORT_MAX = 32_000;
const ATTEMPTS = 100;

/**
 * A port that was free a moment ago. Another process may take it first, so callers should retry.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    const server = createServer();
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error(`no port from ${PORT_MIN} to ${PORT_MAX} is free`);
}
