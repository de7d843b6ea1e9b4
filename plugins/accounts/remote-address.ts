import { isIPv6 } from "node:net";
import type { PlainRequest } from "../../core/http/router.ts";

const CHARACTERS_MAX = 64;

/**
 * Who asks. Behind proxies that is what the outermost of ours wrote into x-forwarded-for: each adds one at
 * the right, and what is left of ours anybody may have written.
 */
export function remoteAddressOf(request: PlainRequest, proxies: number): string {
  if (proxies === 0) return request.remoteAddress;
  const chain = (request.headers["x-forwarded-for"] ?? "").split(",");
  const address = chain.at(-proxies)?.trim() ?? "";
  return /^[\w.:%-]+$/.test(address) ? address.slice(0, CHARACTERS_MAX) : request.remoteAddress;
}

/** What attempts are counted by: one customer of a network has 2^64 addresses of IPv6, but one such block. */
export function blockOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^(?:0*:)*(?:ffff:)(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? groupsOf(address).slice(0, 4).join(":");
}

function groupsOf(address: string): string[] {
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const all = tail === undefined ? left : [...left, ...zeros, ...right];
  return all.map((group) => Number.parseInt(group, 16).toString(16));
}
