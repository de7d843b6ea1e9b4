import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Names for the networks in which reverse proxies beside a gateway are set up. */
const NETWORKS: ReadonlyMap<string, readonly string[]> = new Map([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  [
    "private",
    [
      ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"],
      ...["fc00::/7", "fe80::/10"],
    ],
  ],
]);

const MAPPED_BITS = 96;

export const NEARBY: readonly string[] = ["loopback", "private"];

/** Returns true for `loopback`, `private`, an address, or a range such as 203.0.113.0/24. */
export function isAddressRange(text: string): boolean {
  return NETWORKS.has(text) || rangeOf(text) !== undefined;
}

/** Finds the address of a client, which may be behind proxies. */
export class TrustedProxies {
  private readonly ranges: AddressRanges;
  private hasIgnored = false;

  /**
   * `ranges` are as in `isAddressRange`. `onIgnored` is called once if another address sends x-forwarded-for: a client
   * that forges it, or a proxy that is missing here.
   */
  constructor(
    ranges: readonly string[],
    private readonly onIgnored: (peer: string) => void = () => {},
  ) {
    this.ranges = new AddressRanges(ranges);
  }

  /**
   * Returns the address of the client: that of the connection, unless a trusted proxy states another one. Each proxy
   * appends the address that it sees, so the header is read from its end, as far as proxies are trusted. A client can
   * forge all before that. IPv4 within IPv6 becomes IPv4; `unknown` if the connection has no address any more.
   */
  clientOf(connection: string, forwardedFor: string | undefined): string {
    let client = addressIn(connection);
    if (forwardedFor === undefined || client === undefined) return client ?? "unknown";
    if (!this.ranges.has(client)) {
      if (!this.hasIgnored) this.onIgnored(client);
      this.hasIgnored = true;
      return client;
    }
    const chain = forwardedFor.split(",");
    for (let at = chain.length - 1; at >= 0 && this.ranges.has(client); at--) {
      const before = addressIn((chain[at] ?? "").trim());
      if (before === undefined) break;
      client = before;
    }
    return client;
  }
}

/** Networks, each as in `isAddressRange`. */
export class AddressRanges {
  private readonly ranges: readonly Range[];

  constructor(ranges: readonly string[]) {
    const all = ranges.flatMap((text) => NETWORKS.get(text) ?? [text]);
    this.ranges = all.map(rangeOf).filter((range) => range !== undefined);
  }

  /** Returns true for an address of `TrustedProxies.clientOf` in one of the networks. */
  has(address: string): boolean {
    if (isIP(address) === 0) return false;
    const parsed = ipaddr.parse(address);
    return this.ranges.some(
      ([net, bits]) => net.kind() === parsed.kind() && parsed.match(net, bits),
    );
  }
}

/** Returns an IPv4 address as it is, and the /64 block of an IPv6 address. */
export function addressBlock(address: string): string {
  return isIP(address) === 6 ? hexOf(ipaddr.IPv6.parse(address).parts.slice(0, 4)) : address;
}

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

function rangeOf(text: string): Range | undefined {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes("%")) return undefined;
  const cidr = prefix === undefined ? `${address}/${version === 4 ? 32 : 128}` : text;
  if (!ipaddr.isValidCIDR(cidr)) return undefined;
  const [parsed, bits] = ipaddr.parseCIDR(cidr);
  // Clients are compared as IPv4.
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress();
  return isMapped && bits >= MAPPED_BITS
    ? [parsed.toIPv4Address(), bits - MAPPED_BITS]
    : [parsed, bits];
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
