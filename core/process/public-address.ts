import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** IPv6 assigns only these to hosts; the rest of the address space is reserved. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** Returns true for an address of the public internet: of no range that is private, reserved or an alias. */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST);
}

/** Names that mean something only on this machine or in the operator's own network. */
const OWN_NAMES = /(?:^|\.)(?:localhost|internal|intranet|corp|local|lan|home|svc|test)\.?$/i;

/**
 * Returns false for a host that is a private address, or whose name cannot be public: one without a dot, or of a
 * private domain. Looks no name up.
 */
export function isPublicHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  if (isIP(name) !== 0) return isPublic(name);
  return /[^.]\.[^.]/.test(name) && !OWN_NAMES.test(name);
}
