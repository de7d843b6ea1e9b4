import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import t, { type Test } from "tap";
import type { Dispatcher } from "undici";
import { chooseWay } from "../../../core/upstream/route.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { accepted, CATALOGUE, GATEWAY, swap } from "../config/files.ts";

const CONTROLLER = {
  ...{ paused: false, aborted: false, rawHeaders: null, rawTrailers: null, reason: null },
  ...{ pause: () => {}, resume: () => {}, abort: () => {} },
};

/** A model with the routes `main`, whose breaker is open and due for a probe, and `other`, which serves. */
async function setUp(t: Test) {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  const other = `  other:\n    protocols: { messages: "http://127.0.0.1:9002" }\n    keys: [k]\n`;
  const main = "routes: [{ upstream: main, model: plain-1 }";
  const config = await accepted(t, {
    "gateway.yaml": swap(GATEWAY, "catalogue:", `${other}catalogue:`),
    "catalogue.yaml": CATALOGUE.replace(
      `${main}]`,
      `${main}, { upstream: other, model: m, priority: 1 }]`,
    ),
  });
  const { log, lines } = recordedLog();
  const limits = { ...config.limits, connectMs: 1 };
  const upstreams = new ConnectedUpstreams({ ...config, limits }, clock, log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  const model = config.catalogue.get("plain");
  assert.ok(upstream && model);
  const { breakers, keys } = upstream;
  const sent: Dispatcher.DispatchHandler[] = [];
  t.capture(upstream.dispatcher, "dispatch", (_: unknown, handler: Dispatcher.DispatchHandler) => {
    return sent.push(handler) > 0;
  });
  t.teardown(() => {
    for (const handler of sent) handler.onResponseError?.(CONTROLLER, new Error("over"));
  });
  for (let at = 0; at < 5; at++) {
    breakers.fail("plain-1", { cause: "http_500", reason: "HTTP 500" }, clock.ms);
  }
  clock.ms += 5_000;
  /** A call by the best way, and its upstream. */
  const chosen = async () => {
    const wanted = { conversation: 0, excluded: [], tried: [], keyFailed: false };
    const way = chooseWay({ model, protocol: "messages", ...wanted }, upstreams);
    if (way) way.upstream.breakers.begin(way.route.model);
    await turn();
    return way?.route.upstream;
  };
  /** Replies to the probe that was sent last, and waits until it is over. */
  const reply = async (status: number, body: object, headers: Record<string, string> = {}) => {
    const handler = sent.at(-1);
    assert.ok(handler);
    handler.onRequestStart?.(CONTROLLER, {});
    handler.onResponseStart?.(CONTROLLER, status, headers, "");
    handler.onResponseData?.(CONTROLLER, Buffer.from(JSON.stringify(body)));
    handler.onResponseEnd?.(CONTROLLER, {});
    const states = () => [...breakers].map(({ breaker }) => breaker.state);
    await until("the probe is over", () => !states().includes("probing"));
  };
  return { breakers, clock, chosen, keys, lines, reply, sent, upstream };
}

const SERVED = {
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "OK" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

const ROUTE = {
  ...{ upstream: "main", model: "plain-1", weight: 1, priority: 0 },
  ...{ profile: {}, features: {} },
};

const refusal = (type: string) => ({ type: "error", error: { type, message: "no" } });

t.test("a probe of an upstream", async (t) => {
  t.test("that is served closes its breaker", async (t) => {
    const { chosen, reply, sent } = await setUp(t);
    t.strictSame([await chosen(), sent.length], ["other", 1]);
    await reply(200, SERVED);
    t.equal(await chosen(), "main");
  });

  t.test("that it refuses as a request closes its breaker: it works", async (t) => {
    const { chosen, reply } = await setUp(t);
    t.equal(await chosen(), "other");
    await reply(400, refusal("invalid_request_error"));
    t.equal(await chosen(), "main", "as a customer's call that is refused would");
  });

  for (const [status, type, fault, inMs] of [
    [401, "authentication_error", "key", 60_000],
    [403, "permission_error", "access", 60_000],
    [404, "not_found_error", "model", 60_000],
    [429, "rate_limit_error", "limit", 7_000],
  ] as const) {
    t.test(
      `that it refuses with ${status} rests the key, as a call does, and closes its breaker`,
      async (t) => {
        const { breakers, chosen, clock, keys, lines, reply } = await setUp(t);
        t.equal(await chosen(), "other");
        await reply(status, refusal(type), status === 429 ? { "retry-after": "7" } : {});
        const rests = keys.flatMap((key) => key.restsAt(clock.ms));
        t.match(rests, [{ fault, inMs }]);
        t.match(lines, [{}, { fault, upstream: "main", model: "plain-1" }, {}]);
        t.equal(await chosen(), "main", "with its other key");
        breakers.fail("plain-1", { cause: "http_500", reason: "HTTP 500" }, clock.ms);
        t.equal(await chosen(), "other", "the first failure opens it again");
      },
    );
  }

  t.test("is made with no key that rests", async (t) => {
    const { chosen, clock, keys, sent } = await setUp(t);
    for (const key of keys)
      key.fail("key", "HTTP 401", "plain-1", { sentMs: clock.ms, nowMs: clock.ms });
    t.strictSame([await chosen(), sent.length], ["other", 0]);
    clock.ms += 60_000;
    t.strictSame([await chosen(), sent.length], ["other", 1]);
  });

  t.test("that gets no credentials in time is over", async (t) => {
    const { breakers, chosen, sent, upstream } = await setUp(t);
    t.capture(upstream.adapter, "authorise", () => new Promise(() => {}));
    t.equal(await chosen(), "other");
    const reasons = () => [...breakers].map(({ breaker }) => breaker.lastFailure?.reason);
    await until("the probe is over", () => reasons().includes("no credentials: timed out"));
    t.equal(sent.length, 0);
  });

  for (const [how, authorise, code] of [
    ["rejects", () => Promise.reject(new Error("a secret")), "Error"],
    ["returns nothing", () => Promise.resolve(undefined), "no list"],
    [
      "throws",
      () => {
        throw Object.assign(new Error("a secret"), { code: "ENOENT" });
      },
      "ENOENT",
    ],
  ] as const) {
    t.test(`whose kind ${how} has no credentials, like an operator's trial`, async (t) => {
      const { breakers, chosen, keys, lines, upstream } = await setUp(t);
      t.capture(upstream.adapter, "authorise", authorise);
      t.equal(await chosen(), "other");
      const reason = `no credentials: ${code}`;
      const reasons = () => [...breakers].map(({ breaker }) => breaker.lastFailure?.reason);
      await until("the probe is over", () => reasons().includes(reason));
      t.match(lines.at(-1), { upstream: "main", model: "plain-1", reason });
      const trial = await upstream.try(ROUTE, keys[0]?.id ?? "");
      t.match(trial, { served: false, cause: "credentials", reason });
      t.notMatch(JSON.stringify([lines, trial]), /a secret/);
    });
  }

  t.test("is made once the one before it is over", async (t) => {
    const { chosen, clock, reply, sent } = await setUp(t);
    for (let at = 0; at < 3; at++) {
      t.strictSame([await chosen(), sent.length], ["other", 1]);
      clock.ms += 5_000;
    }
    await reply(529, refusal("overloaded_error"));
    clock.ms += 5_000;
    t.strictSame([await chosen(), sent.length], ["other", 2]);
  });

  t.test("that fails keeps its breaker open", async (t) => {
    const { clock, chosen, reply, sent } = await setUp(t);
    t.equal(await chosen(), "other");
    await reply(529, refusal("overloaded_error"));
    clock.ms += 5_000;
    t.strictSame([await chosen(), sent.length], ["other", 2]);
  });
});
