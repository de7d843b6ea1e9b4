import t from "tap";
import { KeyPool } from "../../../core/upstream/key-pool.ts";
import { findTroubles } from "../../../plugins/messages/troubles.ts";

/** Services of which only these parts are read. */
function services(parts: object) {
  const status = { storeFaults: [], holdStoreHealth: () => ({ kind: "ok" }) };
  const none = {
    ...{
      gauges: { all: [] },
      upstreams: { all: () => [] },
      config: { limits: { callMs: 900_000 } },
    },
    ...{ status: { ...status, ledgerWentBack: () => false } },
  };
  return { ...none, ...parts } as never;
}

t.test("a hold is a trouble once it is older than the config lets a call be", async (t) => {
  const causes = (seconds: number, callMs: number) => {
    const gauge = { name: "tollgate_oldest_hold_seconds", value: () => seconds };
    const given = { gauges: { all: [gauge] }, config: { limits: { callMs } } };
    return findTroubles(services(given)).map(({ cause }) => cause);
  };
  t.strictSame(causes(2_000, 3_600_000), []);
  t.strictSame(causes(4_000, 3_600_000), ["tollgate_oldest_hold_seconds"]);
  t.strictSame(causes(1_000, 600_000), ["tollgate_oldest_hold_seconds"]);
});

t.test("a refused key is a trouble until it serves a call, though its rest is over", async (t) => {
  const clock = { ms: 1_000_000, monotonic: () => clock.ms };
  const { keys } = new KeyPool(["the first key 0001"], clock);
  const upstreams = { all: () => [{ name: "main", keys, breakers: [] }] };
  const texts = () => findTroubles(services({ upstreams, clock })).map(({ en }) => en);
  keys[0]?.fail("key", "401", "small", { sentMs: clock.ms, nowMs: clock.ms });
  const refused = ["The provider main refuses the key …0001 (key)"];
  t.strictSame(texts(), refused);
  clock.ms += 600_000;
  t.strictSame(texts(), refused);
  keys[0]?.succeed("small", clock.ms);
  t.strictSame(texts(), []);
});
