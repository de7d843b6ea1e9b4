import { BlockList, isIPv4, isIPv6 } from "node:net";
import * as v from "valibot";
import { described } from "./options.ts";
import type { Fault } from "./plugin.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** True if only this machine can call the host. Other names are not looked up, and count as public. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return LOOPBACK.check(host, "ipv4");
  if (isIPv6(host)) return LOOPBACK.check(host, "ipv6");
  return host === "localhost";
}

/** The option by which an operator lets a plugin for trying out listen where others can call it. */
export const allowPublic = v.optional(
  described(v.boolean("true or false"), "Start although others than this machine can call it."),
  false,
);

/**
 * What is wrong if a plugin that is for trying out can be called by others than this machine. `path`: the option that
 * names the host, or nothing if it is `listen.host`; `why`: what the others would get.
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
