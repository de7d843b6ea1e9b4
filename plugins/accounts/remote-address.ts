import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { PlainRequest } from "../../core/contract/index.ts";

/**
 * Returns the client's address. Each of our proxies appends one address to x-forwarded-for, so the client is `proxies`
 * entries from the right. A client can forge everything left of that.
 */
export function remoteAddressOf(request: PlainRequest, proxies: number): string {
  const chain = (request.headers["x-forwarded-for"] ?? "").split(",");
  const written = proxies === 0 ? undefined : addressIn(chain.at(-proxies)?.trim() ?? "");
  return written ?? addressIn(request.remoteAddress) ?? "unknown";
}

/** The networks in which reverse proxies beside a gateway are set up. */
const NEAR = new Set(["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"]);

/** Returns true if a proxy nearby has passed the request on: by its address, all customers would look like one. */
export function isForwarded({ headers, remoteAddress }: PlainRequest): boolean {
  if (headers["x-forwarded-for"] === undefined || isIP(remoteAddress) === 0) return false;
  return NEAR.has(ipaddr.process(remoteAddress).range());
}

/**
 * Returns the block of addresses that attempts are counted by: the /64 block of an IPv6 address, since one customer has
 * all 2^64 addresses of it.
 */
export function blockOf(address: string): string {
  return isIP(address) === 6 ? hexOf(ipaddr.IPv6.parse(address).parts.slice(0, 4)) : address;
}

/** Returns an address without port or zone, and IPv4 for IPv4-mapped IPv6; undefined if the text is no address. */
function addressIn(text: string): string | undefined {
  const address =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // The library also accepts 127.1 and 0177.0.0.1, which only some programs read as addresses.
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? hexOf(parsed.parts) : parsed.toString();
}

function hexOf(parts: readonly number[]): string {
  return parts.map((part) => part.toString(16)).join(":");
}
