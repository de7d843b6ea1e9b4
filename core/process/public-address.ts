import ipaddr from "ipaddr.js";

/** IPv6 assigns only these to hosts; the rest of the address space is reserved. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns true for an address of the public internet: of no range that is private, reserved or an
 * alias.
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST);
}
