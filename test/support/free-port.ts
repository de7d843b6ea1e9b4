import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ephemeral ports, because an outgoing connection could take one while a server restarts.
 */
const PORT_MIN = 11_000;
const PORT_MAX = 32_000;
const ATTEMPTS = 100;

/** The environment variable with the ports of a process of a test run, as `FIRST-END`. */
const PORTS = "TOLLGATE_TEST_PORTS";

/** Ports of its own for each of `count` processes: the server of another file could take one while a server restarts. */
export function portsOf(at: number, count: number): Record<string, string> {
  const each = Math.floor((PORT_MAX - PORT_MIN) / count);
  const first = PORT_MIN + at * each;
  return { [PORTS]: `${first}-${first + each}` };
}

/** Ports that this process has got: none is given to two of its servers. */
const given = new Set<number>();

/**
 * A port that was free a moment ago. Another process may take it first, so callers should retry.
 */
export async function freePort(): Promise<number> {
  const [first = PORT_MIN, end = PORT_MAX] = process.env[PORTS]?.split("-").map(Number) ?? [];
  if (given.size > (end - first) / 2) given.clear();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(first, end);
    if (given.has(port)) continue;
    const server = createServer();
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    given.add(port);
    return port;
  }
  throw new Error(`no port from ${first} to ${end} is free`);
}
