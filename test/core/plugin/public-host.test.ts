import t from "tap";
import { httpAddress, reachableAddress } from "../../../core/plugin/public-host.ts";

t.test("a listening address is shown as one that clients can connect to", async (t) => {
  for (const [host, expected] of [
    ["0.0.0.0", "http://127.0.0.1:8080"],
    ["::", "http://[::1]:8080"],
    ["0:0:0:0:0:0:0:0", "http://[::1]:8080"],
    ["::1", "http://[::1]:8080"],
    ["2001:db8::", "http://[2001:db8::]:8080"],
    ["gateway.example", "http://gateway.example:8080"],
    ["10.0.0.0", "http://10.0.0.0:8080"],
  ] as const) {
    t.equal(reachableAddress(httpAddress(host, 8080)), expected);
  }
  t.equal(reachableAddress("https://0.0.0.0"), "https://127.0.0.1");
});
