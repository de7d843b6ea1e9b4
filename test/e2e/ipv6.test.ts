import { networkInterfaces } from "node:os";
import t from "tap";
import { startGateway } from "../support/gateway.ts";

const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
const skip = addresses.some(({ address }) => address === "::1") ? false : "no IPv6 here";

t.test("a gateway on an IPv6 address", async (t) => {
  t.test("prints an address that clients can call", { skip }, async (t) => {
    const gateway = await startGateway();
    try {
      gateway.configure({ config: { listen: { host: "::1" } } });
      await gateway.stop();
      // It listens at another address than the test's helper expects.
      const started = gateway.start().catch(() => {});
      const url = `http://[::1]:${gateway.port}`;
      const deadline = performance.now() + 30_000;
      while (!gateway.logs.includes(`"address":"${url}"`)) {
        t.ok(performance.now() < deadline, gateway.logs);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      t.equal((await fetch(`${url}/healthz`)).status, 200);
      await gateway.kill9();
      await started;
    } finally {
      await gateway.close();
    }
  });
});
