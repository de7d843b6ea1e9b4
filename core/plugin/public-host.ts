import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import * as v from "valibot";
import { described } from "../process/options.ts";
import type { Fault } from "./plugin.ts";

/** Returns true if only this machine can call the host. Does not look names up: all but `localhost` count as public. */
export function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? host === "localhost" : ipaddr.process(host).range() === "loopback";
}

/** Returns true if the host stands for all addresses of the machine. */
export function isEverywhere(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Returns true if two listeners on one port, at these hosts, get in each other's way. */
export function hostsOverlap(host: string, other: string): boolean {
  return host === other || isEverywhere(host) || isEverywhere(other);
}

/** The option that lets a plugin for local trials listen on an address that other machines can call. */
export const allowPublic = v.optional(
  described(v.boolean("true or false"), "Start even if other machines can call it."),
  false,
);

/**
 * Returns the fault of a plugin for local trials that other machines can call. `path` is the option that names the
 * host; empty if it is `listen.host`. `why` says what the other machines would get.
 */
export function publicHost(
  host: string,
  allowed: boolean,
  path: Fault["path"],
  why: string,
): readonly Fault[] {
  if (allowed || isLoopback(host)) return [];
  const where = path.length > 0 ? "a loopback address" : "a loopback address as listen.host";
  return [{ path, message: `expected ${where}, or allow_public: true, since ${why}` }];
}

/** Returns the URL of a host and port. Puts an IPv6 address in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Returns the URL with an address that a client can connect to, if the host only listens: 0.0.0.0 or [::]. */
export function reachableAddress(url: string): string {
  return url.replace(/^(https?:\/\/)(0\.0\.0\.0|\[[0:]+\])(?=[:/]|$)/, (_, scheme, host) =>
    host === "0.0.0.0" ? `${scheme}127.0.0.1` : `${scheme}[::1]`,
  );
}
