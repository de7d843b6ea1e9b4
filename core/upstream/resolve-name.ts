import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

/** How long a name server has to reply. Each is asked once, the next one after that. */
const TIMEOUT_MS = 2_000;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Returns the addresses of a name that a customer gave, IPv4 first. Rejects if it has none, or once `signal` is aborted.
 *
 * Asks name servers itself: by default those of the machine. `dns.lookup` would use libuv's thread pool, which runs two
 * lookups of the whole process at a time. Two names whose server is silent would then stop every new connection to a
 * provider or a store. `/etc/hosts` and search domains are not read.
 */
export async function resolveName(
  name: string,
  servers: readonly string[],
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const plain = name.replace(/\.$/, "");
  if (plain === "localhost" || plain.endsWith(".localhost")) return LOOPBACK;
  signal.throwIfAborted();
  // One resolver for each name: to cancel it ends all its queries.
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (addresses.length === 0 && v4.status === "rejected") throw v4.reason;
    return addresses;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  if (result.status === "rejected") return [];
  return result.value.map((address) => ({ address, family }));
}
