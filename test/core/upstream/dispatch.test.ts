import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import t, { type Test } from "tap";
import { RequestBody } from "../../../core/body/request-body.ts";
import type { AttemptListener } from "../../../core/upstream/attempt.ts";
import { Dispatch } from "../../../core/upstream/dispatch.ts";
import { type Refused, refusedBy } from "../../../core/upstream/fault.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { wires } from "../../../core/wire/wires.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { accepted } from "../config/files.ts";

const clock = { now: () => 0, monotonic: () => 0 };

/** A call for the upstream `main`, whose dispatcher records the requests. */
async function setUp(t: Test, fields: object = {}) {
  const config = await accepted(t, {});
  const upstreams = new ConnectedUpstreams(config, clock, recordedLog().log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  assert.ok(upstream);
  const sent: unknown[] = [];
  t.capture(upstream.dispatcher, "dispatch", (request: unknown) => sent.push(request) > 0);
  const call = newCall();
  call.step("reading");
  call.step("requesting");
  call.model = config.catalogue.get("plain");
  call.upstream = {
    protocol: "messages",
    path: "/v1/messages",
    body: RequestBody.of({ model: "plain", max_tokens: 1, ...fields }),
    form: undefined,
    headers: [],
    bodyFor: undefined,
    prepare: undefined,
    outputLimit: undefined,
    wantsUsage: false,
  };
  const fail = () => assert.fail("nothing has come back");
  const failed: unknown[] = [];
  const listener: AttemptListener = {
    sent: () => {},
    replied: fail,
    received: fail,
    completed: fail,
    failed: (error) => failed.push(error),
    bug: fail,
  };
  const { log, lines } = recordedLog();
  const dispatch = new Dispatch(call, wires.messages, upstreams, clock, log, listener);
  return { call, upstream, dispatch, sent, failed, lines };
}

t.test("an attempt", async (t) => {
  t.test("with synchronous credentials is sent in the same turn, without a promise", async (t) => {
    const { call, dispatch, sent } = await setUp(t);
    let promises = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === "PROMISE") promises++;
      },
    }).enable();
    t.ok(dispatch.prepare());
    dispatch.send();
    hook.disable();

    t.equal(promises, 0);
    t.strictSame(sent, [
      {
        origin: "http://127.0.0.1:9001",
        path: "/v1/messages",
        method: "POST",
        headers: [
          ...["x-api-key", dispatch.way?.key.text, "accept-encoding", "identity"],
          ...["anthropic-version", "2023-06-01"],
          ...["content-type", "application/json"],
        ],
        body: Buffer.from(`{"model":"plain-1","max_tokens":1}`),
        newConnection: false,
      },
    ]);
    t.strictSame([call.route?.upstream, call.attempts], ["main", 1]);
  });

  t.test("does not change the credentials that a kind caches", async (t) => {
    const { upstream, dispatch, sent } = await setUp(t);
    const kept = ["authorization", "Bearer kept"];
    t.capture(upstream.adapter, "authorise", () => kept);
    t.ok(dispatch.prepare());
    dispatch.send();
    t.equal(sent.length, 1);
    t.strictSame(kept, ["authorization", "Bearer kept"]);
  });

  t.test("without a list of credentials fails, and the call is not left to wait", async (t) => {
    for (const wrong of [
      undefined,
      null,
      "x-api-key",
      {},
      Promise.resolve(),
      Promise.resolve({}),
    ]) {
      const { upstream, dispatch, sent, failed } = await setUp(t);
      t.capture(upstream.adapter, "authorise", () => wrong);
      t.ok(dispatch.prepare());
      dispatch.send();
      await turn();
      t.match(failed, [{ code: "no credentials: no list" }]);
      t.strictSame(sent, []);
    }
  });

  for (const [end, settle] of [
    ["come", (credentials: Credentials) => credentials.resolve(["x-api-key", "late"])],
    ["are rejected", (credentials: Credentials) => credentials.reject(new Error("late"))],
  ] as const) {
    t.test(`aborted early sends and logs nothing when its credentials ${end}`, async (t) => {
      const { upstream, dispatch, sent, lines } = await setUp(t);
      const credentials = new Credentials();
      t.capture(upstream.adapter, "authorise", () => credentials.promise);
      t.ok(dispatch.prepare());
      dispatch.send();
      dispatch.attempt?.abort();
      settle(credentials);
      await turn();
      t.strictSame([sent, lines], [[], []]);
    });
  }
});

t.test("a refusal", async (t) => {
  /** Sends a call and has it refused. Returns what rests, and how often the breaker has counted it. */
  async function refusedWith(t: Test, refused: Refused, fields: object = {}) {
    const { call, upstream, dispatch } = await setUp(t, fields);
    t.ok(dispatch.prepare());
    dispatch.send();
    dispatch.refused(refused);
    const key = dispatch.way?.key;
    const breaker = [...upstream.breakers].find(({ model }) => model !== "")?.breaker;
    return {
      rests:
        key
          ?.restsAt(0)
          .map(({ fault }) => fault)
          .join() || "nothing",
      counted: breaker?.failuresInRow ?? 0,
      cause: call.failedAttempts[0]?.cause,
      lost: call.failedAttempts[0]?.lost,
    };
  }

  t.test(
    "of a call that the provider has cancelled counts as lost: it may be billed",
    async (t) => {
      t.match(await refusedWith(t, refusedBy(499, "{}")), { counted: 1, lost: true });
      t.match(await refusedWith(t, refusedBy(503, "{}")), { counted: 1, lost: false });
    },
  );

  t.test("that is a page of a firewall rests nothing, and the breaker counts it", async (t) => {
    for (const status of [403, 405]) {
      const refused = refusedBy(status, "<html>Attention Required</html>");
      t.ok(refused.triesOn);
      t.match(await refusedWith(t, refused), { rests: "nothing", counted: 1 }, `${status}`);
    }
    const inWords = refusedBy(403, JSON.stringify({ error: { message: "no access" } }));
    t.match(await refusedWith(t, inWords), { rests: "access", counted: 0, cause: "access" });
    // One that is empty, or was not read, shows no page.
    for (const none of [undefined, "", "\n"]) {
      t.match(await refusedWith(t, refusedBy(403, none)), { rests: "access", counted: 0 });
      t.match(await refusedWith(t, refusedBy(405, none)), { rests: "model", counted: 0 });
    }
    t.match(await refusedWith(t, refusedBy(404, undefined)), { rests: "model", counted: 0 });
    t.match(await refusedWith(t, refusedBy(406, undefined)), { rests: "nothing", counted: 0 });
    t.ok(refusedBy(406, "<html>").triesOn);
    t.notOk(refusedBy(406, "{}").triesOn);
  });

  t.test("by the limit of a tier rests nothing of other calls", async (t) => {
    const limit = refusedBy(429, undefined);
    for (const fields of [{ service_tier: "flex" }, { speed: "fast" }]) {
      const expected = { rests: "nothing", counted: 0, cause: "limit" };
      t.match(await refusedWith(t, limit, fields), expected, JSON.stringify(fields));
      t.match(await refusedWith(t, refusedBy(401, undefined), fields), { rests: "key" });
    }
    for (const fields of [{}, { service_tier: "auto" }, { speed: "standard" }]) {
      t.match(await refusedWith(t, limit, fields), { rests: "limit" }, JSON.stringify(fields));
    }
  });
});

class Credentials {
  resolve: (headers: string[]) => void = () => {};
  reject: (error: Error) => void = () => {};
  readonly promise = new Promise<string[]>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
