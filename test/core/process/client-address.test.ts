import t from "tap";
import {
  addressBlock,
  isAddressRange,
  NEARBY,
  TrustedProxies,
} from "../../../core/process/client-address.ts";

const NGINX = "10.0.0.1";
const MAPPED = "0000:0000:0000:0000:0000:ffff:7f00:0001";

t.test("the address of a client", async (t) => {
  for (const [what, trusted, connection, forwarded, expected] of [
    ["the peer if no proxy is trusted, whatever is claimed", [], NGINX, "9.9.9.9", NGINX],
    ["the peer if it is no proxy", NEARBY, "7.7.7.7", "9.9.9.9", "7.7.7.7"],
    ["what our proxy has added, not a claim", NEARBY, NGINX, "9.9.9.9, 2.2.2.2", "2.2.2.2"],
    ["what the outer of two has added", NEARBY, NGINX, "9.9.9.9, 2.2.2.2, 10.0.0.2", "2.2.2.2"],
    ["behind a trusted range", [NGINX, "5.5.0.0/16"], NGINX, "9.9.9.9,2.2.2.2,5.5.1.2", "2.2.2.2"],
    ["a proxy that is not trusted", [NGINX], NGINX, "2.2.2.2, 5.5.1.2", "5.5.1.2"],
    ["the peer if a proxy has added nothing", NEARBY, NGINX, undefined, NGINX],
    ["the first of the chain if all are trusted", NEARBY, NGINX, "10.1.1.1, 10.0.0.2", "10.1.1.1"],
    ["the peer if the header holds no address", NEARBY, NGINX, "<script>", NGINX],
    ["the last before what is no address", NEARBY, NGINX, "9.9.9.9, x, 10.0.0.3", "10.0.0.3"],
    ["an address without its port", NEARBY, NGINX, "2.2.2.2:4711", "2.2.2.2"],
    ["IPv6 without its port", NEARBY, NGINX, "[2001:db8::1]:4711", "2001:db8:0:0:0:0:0:1"],
    ["an IPv4 address within IPv6 as itself", NEARBY, NGINX, "::ffff:2.2.2.2", "2.2.2.2"],
    ["behind a proxy on a dual-stack socket", ["loopback"], MAPPED, "2.2.2.2", "2.2.2.2"],
    ["of a dual-stack socket as IPv4", [], MAPPED, "2.2.2.2", "127.0.0.1"],
    ["behind ::1", ["loopback"], "::1", "2.2.2.2", "2.2.2.2"],
    ["behind a unique local address", NEARBY, "fd00::7", "2001:db8::9", "2001:db8:0:0:0:0:0:9"],
    ["behind a link-local address", NEARBY, "fe80::1%eth0", "2.2.2.2", "2.2.2.2"],
    ["behind a range of IPv6", ["2001:db8:1::/48"], "2001:db8:1:2::3", "2.2.2.2", "2.2.2.2"],
    ["beside it", ["2001:db8:1::/48"], "2001:db8:2::3", "2.2.2.2", "2001:db8:2:0:0:0:0:3"],
    ["behind a range of IPv4 in IPv6", ["::ffff:10.0.0.0/104"], NGINX, "2.2.2.2", "2.2.2.2"],
    ["unknown if the connection has ended", NEARBY, "", "2.2.2.2", "unknown"],
  ] as const) {
    t.test(`is ${what}`, async (t) => {
      t.equal(new TrustedProxies(trusted).clientOf(connection, forwarded), expected);
    });
  }
});

t.test("a header that is ignored is reported once", async (t) => {
  const ignored: string[] = [];
  const proxies = new TrustedProxies(NEARBY, (peer) => ignored.push(peer));
  proxies.clientOf("7.7.7.7", undefined);
  proxies.clientOf(NGINX, "2.2.2.2");
  t.strictSame(ignored, []);
  proxies.clientOf("7.7.7.7", "9.9.9.9");
  proxies.clientOf("7.7.7.8", "9.9.9.9");
  t.strictSame(ignored, ["7.7.7.7"]);
});

t.test("addresses and ranges", async (t) => {
  const right = ["loopback", "private", "1.2.3.4", "1.2.3.0/24", "0.0.0.0/0", "::/0", "fd00::1"];
  for (const text of right) t.equal(isAddressRange(text), true, text);
  const wrong = ["", "public", "localhost", "1.2.3", "1.2.3.0/33", "1.2.3.0/", "1.2.3.0/8/8"];
  for (const text of [...wrong, "::/129", "fe80::1%eth0", "constructor"]) {
    t.equal(isAddressRange(text), false, text);
  }
});

t.test("the block that attempts are counted by", async (t) => {
  for (const [address, block] of [
    ["192.0.2.7", "192.0.2.7"],
    ["unknown", "unknown"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::9", "2001:db8:1:2"],
    ["2001:db8::9", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["1::2.3.4.5", "1:0:0:0"],
  ] as const) {
    t.test(`of ${address} is ${block}`, async (t) => t.equal(addressBlock(address), block));
  }
});
