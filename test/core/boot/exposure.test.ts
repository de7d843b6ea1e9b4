import type { NetworkInterfaceInfo } from "node:os";
import t from "tap";
import { publicAddresses, warnOfExposure } from "../../../core/boot/exposure.ts";
import type { Config } from "../../../core/plugin/config.ts";
import { recordedLog } from "../../support/log.ts";

const network = (family: "IPv4" | "IPv6", ...addresses: string[]) =>
  addresses.map((address) => ({ address, family })) as NetworkInterfaceInfo[];

/** A rented server: a public address of each family, beside those of its containers. */
const SERVER = {
  lo: [...network("IPv4", "127.0.0.1"), ...network("IPv6", "::1")],
  eth0: [...network("IPv4", "5.6.7.8"), ...network("IPv6", "2a01:4f8::1", "fe80::1")],
  docker0: network("IPv4", "172.17.0.1"),
};
const CONTAINER = { lo: network("IPv4", "127.0.0.1"), eth0: network("IPv4", "172.18.0.5") };

t.test("the addresses of a listener that the internet can reach", async (t) => {
  t.strictSame(publicAddresses("0.0.0.0", SERVER), ["5.6.7.8"]);
  t.strictSame(publicAddresses("::", SERVER), ["5.6.7.8", "2a01:4f8::1"]);
  t.strictSame(publicAddresses("5.6.7.8", SERVER), ["5.6.7.8"]);
  for (const host of ["127.0.0.1", "::1", "localhost", "172.17.0.1", "gateway-1"]) {
    t.strictSame(publicAddresses(host, SERVER), [], host);
  }
  t.strictSame(publicAddresses("0.0.0.0", CONTAINER), []);
});

t.test("a start warns of what the internet can reach", async (t) => {
  const warned = (host: string, operators?: string) => {
    const { log, lines } = recordedLog();
    const listen = operators === undefined ? undefined : { host: operators, port: 8081 };
    warnOfExposure({ listen: { host }, admin: { listen } } as unknown as Config, log, SERVER);
    return lines.map(({ level, msg }) => `${level} ${/admin API|listen.host/.exec(String(msg))}`);
  };
  t.strictSame(warned("0.0.0.0"), ["40 admin API", "40 listen.host"]);
  t.strictSame(warned("0.0.0.0", "127.0.0.1"), ["40 listen.host"]);
  t.strictSame(warned("127.0.0.1", "0.0.0.0"), ["40 admin API"]);
  t.strictSame(warned("127.0.0.1"), []);
  t.strictSame(warned("127.0.0.1", "127.0.0.1"), []);
});
