import { isIP } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import type { Config } from "../plugin/config.ts";
import { isEverywhere } from "../plugin/public-host.ts";
import type { Log } from "../process/log.ts";
import { isPublic } from "../process/public-address.ts";

type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

/** Returns the addresses of a listener that the internet can reach. Does not look names up. */
export function publicAddresses(
  host: string,
  interfaces: Interfaces = networkInterfaces(),
): string[] {
  const all = Object.values(interfaces).flatMap((list) => list ?? []);
  const listening = isEverywhere(host)
    ? all.filter(({ family }) => host === "::" || family === "IPv4").map(({ address }) => address)
    : [host];
  return [...new Set(listening.filter((address) => isIP(address) !== 0 && isPublic(address)))];
}

/** Warns of listeners that the internet can reach: a proxy in front is passed by, and operators' routes are open. */
export function warnOfExposure({ listen, admin }: Config, log: Log, interfaces?: Interfaces): void {
  const addresses = publicAddresses(listen.host, interfaces);
  const forOperators = publicAddresses((admin.listen ?? listen).host, interfaces);
  if (forOperators.length > 0) {
    log.warn(
      { addresses: forOperators },
      "the internet can reach the admin API and /metrics; set admin.listen to an address that it cannot, such as 127.0.0.1",
    );
  }
  if (addresses.length > 0) {
    log.warn(
      { addresses },
      "the internet can reach listen.host, where keys are sent without TLS; listen on 127.0.0.1 behind a proxy with TLS, " +
        "or let a firewall admit the proxy alone",
    );
  }
}
