import t from "tap";
import { startGateway } from "../support/gateway.ts";
import { startRedisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";

/** Runs a gateway whose clock is an hour behind. */
const BEHIND = `--import=data:text/javascript,${encodeURIComponent(
  "const now = Date.now; Date.now = () => now() - 3_600_000;",
)}`;

t.test("a gateway whose clock is an hour behind Postgres does not start", async (t) => {
  const redis = await startRedisServer();
  const stores = { hot: redis.url };
  const env = { NODE_OPTIONS: BEHIND };
  await t.rejects(startGateway({ config: { stores }, env }), {
    message: /clock of Postgres is 3\d{3}\.\d s ahead of this gateway's .*set the clock/,
  });
  const gateway = await startGateway({
    env,
    config: { stores, limits: { clock_difference_seconds: 0 } },
    plugins: { metrics: {} },
  });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  t.match(metrics, /^tollgate_clock_ahead_seconds\{store="postgres"\} 3[56]\d\d\./m);
  const line = /a fault that makes failures worse/;
  await until("it is logged", () => line.test(gateway.logs));
  await gateway.close();
  await redis.stop();
});
