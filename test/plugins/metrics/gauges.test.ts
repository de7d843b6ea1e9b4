import { Registry } from "prom-client";
import t from "tap";
import { KeyPool } from "../../../core/upstream/key-pool.ts";
import { addGauges } from "../../../plugins/metrics/gauges.ts";

const HOUR_MS = 3_600_000;

t.test("gauges of the keys of an upstream", async (t) => {
  const clock = { ms: 1_000_000, monotonic: () => clock.ms };
  const { keys } = new KeyPool(["the first key 0001", "the second key 0002"], clock);
  const [first, second] = keys;
  if (!first || !second) throw new Error("no keys");
  const registry = new Registry();
  const upstreams = { all: () => [{ name: "main", keys, breakers: [] }] };
  addGauges(registry, { clock, upstreams } as never);
  const samples = async (name: string) => {
    const text = await registry.getSingleMetricAsString(name);
    return text.split("\n").filter((line) => line.startsWith(name));
  };
  const states = async () =>
    (await samples("tollgate_upstream_keys"))
      .filter((line) => !line.endsWith(" 0"))
      .map((line) => line.replace(/^.*state="/, "").replace('"}', ""));
  const refused = async () =>
    (await samples("tollgate_upstream_key_refused")).map((line) => line.replace(/^[^{]*/, ""));

  t.test("count one that rests for one model as one that works for the others", async (t) => {
    t.strictSame(await states(), ["awake 2"]);
    first.fail("model", "404", "small", { sentMs: clock.ms, nowMs: clock.ms });
    second.fail("limit", "429", "small", { sentMs: clock.ms, nowMs: clock.ms });
    t.strictSame(await states(), ["partly 2"]);
    t.strictSame(await refused(), ['{upstream="main",key="0001",model="small",cause="model"} 1']);
    second.fail("account", "402", "small", { sentMs: clock.ms, nowMs: clock.ms });
    t.strictSame(await states(), ["partly 1", "resting 1"]);
    second.isOff = true;
    t.strictSame(await states(), ["partly 1", "off 1"]);
    second.isOff = false;
  });

  t.test("keep a refusal until the key serves a call, or none tries it for an hour", async (t) => {
    const ofAll = '{upstream="main",key="0002",model="all",cause="account"} 1';
    clock.ms += HOUR_MS / 2;
    t.strictSame(await states(), ["awake 2"]);
    t.equal(
      (await refused()).length,
      2,
      "the rests are over, and nothing shows that the keys work",
    );
    first.succeed("small", clock.ms);
    t.strictSame(await refused(), [ofAll]);
    clock.ms += HOUR_MS;
    t.strictSame(await refused(), []);
  });
});
