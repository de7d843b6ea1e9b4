import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { HealthWatch, type WatchedGateway } from "./health-watch.ts";

t.test("the watch of /healthz", { jobs: 2 }, async (t) => {
  // A process whose event loop stands: the kernel accepts connections, and nothing replies.
  const server = createServer(() => {});
  t.before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  t.teardown(() => server.close());

  t.test("detects a gateway that hangs", async (t) => {
    const watch = new HealthWatch([hanging(true)], 10, 150);
    while (watch.violations.length === 0) await delay(10);
    t.match(watch.violations[0], { rule: "a gateway that runs is never silent" });
    watch.stop();
  });

  t.test("expects nothing of one that a fault has frozen", async (t) => {
    const watch = new HealthWatch([hanging(false), hanging(true)], 10, 150);
    while (watch.violations.length === 0) await delay(10);
    t.equal(watch.violations.length, 1, "only that of the one that runs");
    watch.stop();
  });

  function hanging(isUp: boolean): WatchedGateway {
    const address = server.address();
    const port = address === null || typeof address === "string" ? 0 : address.port;
    return { name: "gateway 0", isUp, gateway: { url: `http://127.0.0.1:${port}` } };
  }
});
