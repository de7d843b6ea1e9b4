import assert from "node:assert/strict";
import t, { type Test } from "tap";
import type { Model } from "../../../core/catalogue/catalogue.ts";
import type { Protocol } from "../../../core/catalogue/endpoint.ts";
import { chooseWay, type Wanted, type Way } from "../../../core/upstream/route.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { recordedLog } from "../../support/log.ts";
import { accepted, CATALOGUE, GATEWAY, swap } from "../config/files.ts";

const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };

/** A model with these routes, each written `upstream`, `upstream/model`, `upstream*weight` or `upstream@priority`. */
async function setUp(t: Test, written: readonly string[], keys: readonly string[] = ["k"]) {
  const routes = written.map((text) => {
    const [, upstream, name = "m", weight = "1", priority = "0"] =
      /^(\w+)(?:\/(\w+))?(?:\*(\d+))?(?:@(\d+))?$/.exec(text) ?? [];
    return `{ upstream: ${upstream}, model: ${name}, weight: ${weight}, priority: ${priority} }`;
  });
  const upstream = (name: string) =>
    `  ${name}:\n    protocols: { messages: "http://127.0.0.1:9001" }\n    keys: [${keys.join(", ")}]\n`;
  const names = ["a", "b", "c"].map(upstream).join("");
  const list = `routes: [${routes.join(", ")}]`;
  const config = await accepted(t, {
    "gateway.yaml": swap(GATEWAY, "catalogue:", `${names}catalogue:`),
    "catalogue.yaml": CATALOGUE.replace("routes: [{ upstream: main, model: plain-1 }]", list),
  });
  const upstreams = new ConnectedUpstreams(config, clock, recordedLog().log);
  t.teardown(() => upstreams.close());
  const model = config.catalogue.get("plain");
  assert.ok(model);
  return { model, upstreams };
}

function open(upstreams: ConnectedUpstreams, name: string): void {
  for (let at = 0; at < 5; at++) {
    upstreams.get(name)?.breakers.fail("m", { cause: "http_500", reason: "HTTP 500" }, 0);
  }
}

function wanted(
  model: Model,
  protocol: Protocol,
  { conversation = 0, tried = [], keyFailed = false }: Partial<Wanted> = {},
): Wanted {
  return { model, protocol, conversation, excluded: [], tried, keyFailed };
}

/** The upstreams in the order in which a call that always fails tries them. `keyFailed`: because of its keys. */
function order(
  model: Model,
  upstreams: ConnectedUpstreams,
  conversation = 0,
  keyFailed = false,
): string {
  const tried: Way[] = [];
  for (;;) {
    const options = { conversation, tried, keyFailed };
    const way = chooseWay(wanted(model, "messages", options), upstreams);
    if (!way) return tried.map(({ route }) => route.upstream).join(" ");
    tried.push(way);
  }
}

t.test("the choice of a route", async (t) => {
  t.test("follows priority, the lower first, not the order in the file", async (t) => {
    const { model, upstreams } = await setUp(t, ["c@2", "a", "b@1"]);
    t.equal(order(model, upstreams), "a b c");
  });

  t.test("follows weight among routes of one priority", async (t) => {
    const { model, upstreams } = await setUp(t, ["a*6", "b*3", "c*1"]);
    const counts: Record<string, number> = {};
    for (let conversation = 1; conversation <= 10_000; conversation++) {
      const way = chooseWay(wanted(model, "messages", { conversation }), upstreams);
      const upstream = way?.route.upstream;
      counts[upstream ?? ""] = (counts[upstream ?? ""] ?? 0) + 1;
    }
    for (const [name, expected] of [
      ["a", 6_000],
      ["b", 3_000],
      ["c", 1_000],
    ] as const) {
      t.ok(Math.abs((counts[name] ?? 0) - expected) < 200, JSON.stringify(counts));
    }
  });

  t.test("reaches every route, for any conversation", async (t) => {
    const { model, upstreams } = await setUp(t, ["a", "b", "c@1"]);
    const orders = Array.from({ length: 50 }, (_, at) => order(model, upstreams, at + 1));
    t.strictSame([...new Set(orders)].sort(), ["a b c", "b a c"]);
  });

  t.test("skips upstreams without the protocol", async (t) => {
    const { model, upstreams } = await setUp(t, ["a", "b@1"]);
    t.equal(chooseWay(wanted(model, "chat"), upstreams), undefined);
  });

  t.test(
    "gives another key a turn after one is refused, and another upstream after two",
    async (t) => {
      const keys = ["k1", "k2", "k3", "k4", "k5", "k6"];
      const { model, upstreams } = await setUp(t, ["a", "b@1", "c@2"], keys);
      t.match(order(model, upstreams, 0, true), /^a a b b c c a /);
      const alone = await setUp(t, ["a"], keys);
      t.equal(order(alone.model, alone.upstreams, 0, true), "a a a a a a");
      // A limit is that of a model.
      const two = await setUp(t, ["a", "a/n@1", "b@2"], keys);
      t.match(order(two.model, two.upstreams, 0, true), /^a a a a b b a /);
    },
  );

  t.test("tries an upstream with an open breaker last", async (t) => {
    const { model, upstreams } = await setUp(t, ["a", "b@1", "c@2"]);
    open(upstreams, "a");
    t.equal(order(model, upstreams), "b c a");
  });

  t.test("follows priority if every breaker is open", async (t) => {
    const { model, upstreams } = await setUp(t, ["a", "b@1"]);
    open(upstreams, "a");
    open(upstreams, "b");
    t.equal(order(model, upstreams), "a b");
  });

  t.test("probes an upstream with an open breaker while another serves the call", async (t) => {
    const { model, upstreams } = await setUp(t, ["a", "b@1"]);
    const probed: string[] = [];
    for (const upstream of upstreams.all()) {
      t.capture(upstream, "probe", () => probed.push(upstream.name));
    }
    open(upstreams, "a");
    const chosen = () => chooseWay(wanted(model, "messages"), upstreams)?.route.upstream;
    t.strictSame([chosen(), probed], ["b", []]);
    clock.ms += 5_000;
    t.strictSame([chosen(), probed], ["b", ["a"]]);
    open(upstreams, "b");
    clock.ms += 5_000;
    t.strictSame([chosen(), probed], ["a", ["a"]], "nothing else serves it");
  });
});
