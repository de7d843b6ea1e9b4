import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { PlainRequest } from "../../core/contract/index.ts";

/**
 * Who asks. Behind proxies that is what the outermost of ours wrote into x-forwarded-for: each adds one at
 * the right, and what is left of ours anybody may have written.
 */
export function remoteAddressOf(request: PlainRequest, proxies: number): string {
  const chain = (request.headers["x-forwarded-for"] ?? "").split(",");
  const written = proxies === 0 ? undefined : addressIn(chain.at(-proxies)?.trim() ?? "");
  return written ?? addressIn(request.remoteAddress) ?? "unknown";
}

/** What attempts are counted by: one customer of a network has 2^64 addresses of IPv6, but one such block. */
export function blockOf(address: string): string {
  return isIP(address) === 6 ? hexOf(ipaddr.IPv6.parse(address).parts.slice(0, 4)) : address;
}

/** An address in its plain form: without a port or a zone, and an IPv4 address within IPv6 as what it is. */
function addressIn(text: string): string | undefined {
  const address =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // The library also takes 127.1 and 0177.0.0.1, which are addresses to some programs only.
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? hexOf(parsed.parts) : parsed.toString();
}

function hexOf(parts: readonly number[]): string {
  return parts.map((part) => part.toString(16)).join(":");
}
