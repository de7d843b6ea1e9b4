import t from "tap";
import type { PlainRequest } from "../../../core/contract/index.ts";
import { blockOf, isForwarded, remoteAddressOf } from "../../../plugins/accounts/remote-address.ts";

function requestFrom(remoteAddress: string, forwarded?: string): PlainRequest {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  const request = { method: "GET", path: "/", params: {}, query: new URLSearchParams(), headers };
  return { ...request, body: Buffer.alloc(0), requestId: "1", remoteAddress };
}

const addressOf = (remoteAddress: string, proxies: number, forwarded?: string) =>
  remoteAddressOf(requestFrom(remoteAddress, forwarded), proxies);

t.test("remote addresses", async (t) => {
  const peer = "10.0.0.1";
  for (const [what, proxies, forwarded, expected] of [
    ["the peer if there are no proxies, whatever the header claims", 0, "9.9.9.9", peer],
    ["what our proxy has added, not what its client claimed", 1, "9.9.9.9, 2.2.2.2", "2.2.2.2"],
    ["what the outer of two proxies has added", 2, "9.9.9.9, 2.2.2.2, 10.0.0.2", "2.2.2.2"],
    ["the peer if a proxy has added nothing", 1, undefined, peer],
    ["the peer if there are fewer addresses than proxies", 3, "2.2.2.2, 10.0.0.2", peer],
    ["the peer if the header holds no address", 1, "<script>", peer],
    ["an address without the port that a proxy adds", 1, "2.2.2.2:4711", "2.2.2.2"],
    ["an IPv6 address without brackets and port", 1, "[2001:db8::1]:4711", "2001:db8:0:0:0:0:0:1"],
    ["an IPv4 address within IPv6 as itself", 1, "::ffff:2.2.2.2", "2.2.2.2"],
  ] as const) {
    t.test(`are ${what}`, async (t) => t.equal(addressOf(peer, proxies, forwarded), expected));
  }

  t.test("of a dual-stack socket are IPv4 if the client's is", async (t) => {
    const peerText = "0000:0000:0000:0000:0000:ffff:7f00:0001";
    t.equal(addressOf(peerText, 0), "127.0.0.1");
  });

  for (const [address, block] of [
    ["192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::9", "2001:db8:1:2"],
    ["2001:db8::9", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["1::2.3.4.5", "1:0:0:0"],
  ] as const) {
    t.test(`${address} counts as ${block}`, async (t) => t.equal(blockOf(address), block));
  }
});

t.test("a request that a proxy nearby has passed on is known as one", async (t) => {
  for (const [address, forwarded, expected] of [
    ["127.0.0.1", "2.2.2.2", true],
    ["172.18.0.5", "2.2.2.2", true],
    ["0000:0000:0000:0000:0000:ffff:7f00:0001", "2.2.2.2", true],
    ["fd00::1", "2.2.2.2", true],
    ["127.0.0.1", undefined, false],
    ["9.9.9.9", "2.2.2.2", false],
    ["", "2.2.2.2", false],
  ] as const) {
    t.equal(isForwarded(requestFrom(address, forwarded)), expected, `${address} for ${forwarded}`);
  }
});
