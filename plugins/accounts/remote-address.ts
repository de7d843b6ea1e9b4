import { isIP } from "node:net";
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
  if (isIP(address) !== 6) return address;
  return groupsOf(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
}

/** An address in its plain form: without a port, and an IPv4 address within IPv6 as what it is. */
function addressIn(text: string): string | undefined {
  const address =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const family = isIP(address);
  if (family !== 6) return family === 4 ? address : undefined;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!isMapped) return groups.map((group) => group.toString(16)).join(":");
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight numbers of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [bare = ""] = address.split("%");
  // Its last 32 bits may be written as IPv4.
  const dotted = /[\d.]+$/.exec(bare)?.[0] ?? "";
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const plain = dotted.includes(".")
    ? `${bare.slice(0, -dotted.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    : bare;
  const [left = [], right = []] = plain
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}
