import t from "tap";
import { endpoints, SERVES_NOTHING } from "../../../core/catalogue/endpoint.ts";
import { connect } from "../../../core/database/client.ts";
import { databaseOf } from "../../../core/database/migrate.ts";
import { HttpCall } from "../../../core/http/http-call.ts";
import type { EndedCall } from "../../../core/plugin/call.ts";
import type { Services } from "../../../core/plugin/index.ts";
import { firstByteMs, TrafficCounter } from "../../../plugins/metrics/traffic-counter.ts";
import {
  trafficByCause,
  trafficByTime,
  trafficByUpstream,
} from "../../../plugins/metrics/traffic-minutes.ts";
import { recordedLog } from "../../support/log.ts";
import { migrateAll } from "../../support/migrations.ts";
import { startPostgres } from "../../support/postgres.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** 10:00 in Vietnam. */
const AT = Date.parse("2026-11-28T03:00:00Z");
const period = { from: new Date(AT), to: new Date(AT + 2 * HOUR) };

const failure = (upstream: string, cause: string) => ({ upstream, cause });
const refusal = { code: "insufficient_balance", type: "billing" };
const route = (upstream: string) => ({ upstream, model: "m" });

function ended(minute: number, change: object): EndedCall {
  const call = new HttpCall("id", AT + minute * MINUTE, 1_000, endpoints[0]!, {});
  const reply = { status: 200, outcome: "complete", attempts: 1, firstByteAtMs: 1_100 };
  return { ...call, ...reply, ...change } as EndedCall;
}

t.test("what became of calls, by minute, at all gateways", async (t) => {
  const { log } = recordedLog();
  const postgres = await startPostgres();
  const sql = connect({
    ...{ server: { url: postgres.url }, connectionsMax: 4, statementTimeoutMs: 30_000, log },
  });
  await migrateAll(sql);
  t.teardown(async () => {
    await sql.end(1);
    await postgres.stop();
  });
  const database = databaseOf(sql);
  const gatewayAt = (nowMs: number, query = database.query) =>
    new TrafficCounter({
      ...{ log, database: { query }, clock: { now: () => nowMs } },
    } as unknown as Services);

  const [one, other] = [gatewayAt(AT), gatewayAt(AT)];
  // Two calls that a and b serve; b after a has failed.
  one.count(ended(0, { route: route("a") }));
  const failedOver = { attempts: 2, failedAttempts: [failure("a", "http_500")] };
  other.count(ended(0, { route: route("b"), firstByteAtMs: 3_000, ...failedOver }));
  // No upstream serves this one, an hour later.
  const lost = [failure("a", "silent"), failure("b", "http_500")];
  const gone = { status: 502, outcome: "refused", route: route("b") };
  other.count(ended(61, { ...gone, attempts: 2, failedAttempts: lost }));
  // A refusal of the request, and a failure of the gateway's own, are no fault of the upstream.
  const ofRequest = [failure("a", "http_422"), failure("a", "gateway")];
  one.count(ended(61, { ...gone, status: 422, attempts: 2, failedAttempts: ofRequest }));
  one.count(ended(61, { status: 402, outcome: "refused", attempts: 0, refusal }));
  // Questions by key, such as GET /v1/balance, are no calls.
  one.count(ended(61, { endpoint: SERVES_NOTHING, attempts: 0 }));
  one.count(ended(61, { endpoint: SERVES_NOTHING, ...gone, status: 401, attempts: 0, refusal }));
  await Promise.all([one.stop(), other.stop()]);

  await t.test("counts of all gateways add up", async (t) => {
    const later = gatewayAt(AT);
    later.count(ended(0, { route: route("a"), firstByteAtMs: 1_009 }));
    await later.stop();
    const calls = await trafficByTime(database, "hour", period);
    t.strictSame(calls, [
      { at: new Date(AT + HOUR), upstream: "", served: 0, failed: 2, refused: 1 },
      { at: new Date(AT), upstream: "", served: 3, failed: 0, refused: 0 },
    ]);
    const ofA = await trafficByTime(database, "minute", { ...period, upstream: "a" });
    t.strictSame(ofA, [
      { at: new Date(AT + 61 * MINUTE), upstream: "a", served: 0, failed: 1, refused: 2 },
      { at: new Date(AT), upstream: "a", served: 2, failed: 1, refused: 0 },
    ]);
  });

  await t.test("each cause is known, of calls and of attempts", async (t) => {
    const refused = await trafficByCause(database, period);
    t.match(refused, [{ cause: "402 insufficient_balance", calls: 1 }]);
    t.equal(refused.length, 1);
    const failed = await trafficByCause(database, { ...period, upstream: "*" });
    t.strictSame(
      failed.map(({ upstream, cause, calls }) => `${upstream} ${cause} ${calls}`),
      ["a gateway 1", "a http_422 1", "a http_500 1", "a silent 1", "b http_500 1"],
    );
  });

  await t.test("the first bytes of an upstream are merged, not averaged", async (t) => {
    const [a, b] = await trafficByUpstream(database, { ...period, upstream: "*" });
    t.match(a, { upstream: "a", served: 2, failed: 2, causes: { http_422: 1, silent: 1 } });
    t.match(b, { upstream: "b", served: 1, failed: 1 });
    const near = (ms: number | null, of: number) =>
      t.ok(ms !== null && ms >= of && ms <= of * 1.2, `${ms} for ${of}`);
    near(firstByteMs(a!.firstBytes, 0.5), 9);
    near(firstByteMs(a!.firstBytes, 0.99), 100);
    near(firstByteMs(b!.firstBytes, 0.5), 2_000);
    t.equal(firstByteMs([], 0.5), null);
  });

  await t.test(
    "nothing is lost while the ledger is down, and old counts are deleted",
    async (t) => {
      let isDown = true;
      const query = (...given: Parameters<typeof database.query>) =>
        isDown ? Promise.reject(new Error("down")) : database.query(...given);
      const late = gatewayAt(AT + 48 * HOUR + 30 * MINUTE, query as typeof database.query);
      late.count(ended(30, { route: route("a") }));
      await late.stop();
      late.count(ended(30, { route: route("a") }));
      isDown = false;
      await late.stop();
      const calls = await trafficByTime(database, "minute", period);
      t.strictSame(
        calls.map(({ at, served }) => [(at.getTime() - AT) / MINUTE, served]),
        [
          [61, 0],
          [30, 2],
        ],
      );
    },
  );
});
