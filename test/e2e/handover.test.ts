import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { createCustomer } from "../support/admin.ts";
import { bodyOf } from "../support/ask.ts";
import { startGateway } from "../support/gateway.ts";
import { hasNativeEngine } from "../support/native-engine.ts";
import { assertReconciled, callsInFlight } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const READY = "GET /readyz HTTP/1.1\r\nhost: h\r\n\r\n";
/** Longer than a test may take: the gateway ends because its clients have left. */
const HANDOVER_SECONDS = 600;

for (const engine of hasNativeEngine ? (["native", "node"] as const) : (["node"] as const)) {
  t.test(`a stopping gateway on ${engine} hands its connections over`, async (t) => {
    const gateway = await startGateway({
      config: {
        listen: { engine },
        limits: { handover_seconds: HANDOVER_SECONDS, drain_seconds: 2 * HANDOVER_SECONDS },
      },
    });
    t.teardown(() => gateway.close());
    const { key } = await createCustomer(gateway, { creditVnd: 100_000 });
    const call = (directive: object = {}) => rawPost(PATH, key, bodyOf(PATH, directive));
    const [probe, idle, busy, silent] = [
      await RawClient.open(gateway.port),
      await RawClient.open(gateway.port),
      await RawClient.open(gateway.port),
      await RawClient.open(gateway.port),
    ];
    await idle.send(call());
    const before = await idle.response();
    t.equal(before.status, 200);
    t.not(before.headers["connection"], "close");
    await busy.send(call({ delay_ms: 600_000, until: "stopping" }));
    await until("it waits for its upstream", async () => (await callsInFlight(gateway)) === 1);

    const stopped = gateway.stop();
    await until("it takes no more connections", () => takesNone(gateway.port));
    await probe.send(READY);
    const ready = await probe.response();
    t.strictSame([ready.status, ready.headers["connection"]], [503, "close"]);
    t.strictSame(JSON.parse(ready.body.toString()), { status: "stopping" });

    await gateway.simulator.release("stopping");
    const finished = await busy.response();
    t.strictSame([finished.status, finished.headers["connection"]], [200, "close"]);

    t.notOk(idle.ended, "a connection that its client may use at any moment stays open");
    await idle.send(call());
    const last = await idle.response();
    t.strictSame([last.status, last.headers["connection"]], [200, "close"]);
    t.notOk(silent.ended);

    for (const client of [probe, idle, busy, silent]) client.destroy();
    t.equal(await stopped, 0, "it ends as soon as its clients have left");
    await gateway.start();
    await assertReconciled(gateway);
  });
}

t.test(
  "a machine that stood still does not make a stopping gateway cut its connections",
  async (t) => {
    const handover = 5;
    const gateway = await startGateway({
      config: { limits: { handover_seconds: handover, drain_seconds: 60 } },
    });
    t.teardown(() => gateway.close());
    const { key } = await createCustomer(gateway, { creditVnd: 100_000 });
    const kept = await RawClient.open(gateway.port);
    const stopped = gateway.stop();
    await until("it takes no more connections", () => takesNone(gateway.port));
    gateway.signal("SIGSTOP");
    await delay((handover + 1) * 1000);
    gateway.signal("SIGCONT");
    await delay(1000);
    await kept.send(rawPost(PATH, key, bodyOf(PATH)));
    t.equal((await kept.response()).status, 200);
    kept.destroy();
    t.equal(await stopped, 0);
  },
);

async function takesNone(port: number): Promise<boolean> {
  try {
    (await RawClient.open(port)).destroy();
    return false;
  } catch {
    return true;
  }
}
