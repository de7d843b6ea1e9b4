import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ephemeral ports, because an outgoing connection could take one while a server restarts.
 */
const PORT_MIN = 11_000;
const PORT_MAX = 32_000;
const ATTEMPTS = 100;

/**
 * A port for a server of this process, also while that server restarts: no other test on this
 * machine gets it until this process ends. Other programs may take it first, so callers should
 * retry.
 */
export async function freePort(min = PORT_MIN, max = PORT_MAX): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(min, max + 1);
    if ((await isClaimed(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no port from ${min} to ${max} is free`);
}

/** Claims a port by its namesake of UDP, which the system frees when the process ends, however it ends. */
async function isClaimed(port: number): Promise<boolean> {
  const claim = createSocket("udp4").unref();
  claim.bind({ port, address: "127.0.0.1", exclusive: true });
  try {
    await once(claim, "listening");
    return true;
  } catch {
    claim.close();
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
