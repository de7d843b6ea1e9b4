import t from "tap";
import { startGateway } from "../support/gateway.ts";
import { startRedisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";

/** Runs a gateway whose clock is an hour behind. */
const BEHIND = `--import=data:text/javascript,${encodeURIComponent(
  "const now = Date.now; Date.now = () => now() - 3_600_000;",
)}`;

t.test("a gateway whose clock is an hour behind its stores does not start", async (t) => {
  const redis = await startRedisServer();
  const stores = { hot: redis.url };
  const env = { NODE_OPTIONS: BEHIND };
  await t.rejects(startGateway({ config: { stores }, env }), {
    message: /this gateway is 3\d{3}\.\d s behind (?:Redis|Postgres), and .*Set the clock/,
  });
  const gateway = await startGateway({
    env,
    config: { stores, limits: { clock_difference_seconds: 0 } },
    plugins: { metrics: {} },
  });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  t.match(metrics, /^tollgate_clock_ahead_seconds\{store="redis"\} 3[56]\d\d\./m);
  t.match(metrics, /^tollgate_clock_ahead_seconds\{store="postgres"\} 3[56]\d\d\./m);
  const line = /clocks differ; run NTP on every machine/;
  await until("it is logged", () => line.test(gateway.logs));
  await gateway.close();
  await redis.stop();
});
