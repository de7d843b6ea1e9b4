import t from "tap";
import { createCustomer, usage } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const MB = 1_048_576;
const STREAMS = 12;

t.test("a gateway that keeps at most 1 MB of replies that are not read", async (t) => {
  const gateway = await startGateway({ config: { limits: { unread_mb: 1, reply_mb: 1 } } });
  t.teardown(() => gateway.close());

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  }

  t.test("cuts and charges those that wait longest, and serves a client that reads", async (t) => {
    const hoarder = await createCustomer(gateway, { creditVnd: 1_000_000 });
    const honest = await createCustomer(gateway, { creditVnd: 1_000_000 });
    const body = bodyOf(PATH, { total_bytes: 40 * MB, coalesce: true }, { stream: true });
    const clients: RawClient[] = [];
    for (let n = 0; n < STREAMS; n++) {
      const client = await RawClient.open(gateway.port);
      client.socket.pause();
      await client.send(rawPost(PATH, hoarder.key, body));
      clients.push(client);
    }
    await until(
      "some are cut",
      async () => (await metric("tollgate_unread_replies_cut_total")) > 3,
    );
    t.ok((await metric("tollgate_unread_reply_bytes")) <= MB);
    const response = await ask(gateway.url, honest.key, PATH, bodyOf(PATH, { output_tokens: 5 }));
    t.equal(response.status, 200);
    await response.text();
    await until("the log says so", () => /take all of limits.unread_mb/.test(gateway.logs));
    for (const client of clients) client.destroy();
    await noCallsInFlight(gateway);
    await assertReconciled(gateway);
    const charges = () => usage(gateway, hoarder.accountId);
    await until("all are committed", async () => (await charges()).length === STREAMS);
    for (const call of await charges()) t.match(String(call["cost_vnd"]), /[1-9]/);
  });

  t.test("charges the images of a client that has left, though there is no room", async (t) => {
    const path = "/v1/images/generations";
    const customer = await createCustomer(gateway, { creditVnd: 1_000_000 });
    // Two of these replies have no room beside one another.
    const directive = { image_bytes: 300_000, images: 2, delay_ms: 60_000, until: "left" };
    const body = bodyOf(path, directive, { n: 2, size: "256x256" });
    const clients: RawClient[] = [];
    for (let n = 0; n < 6; n++) {
      const client = await RawClient.open(gateway.port);
      await client.send(rawPost(path, customer.key, body));
      clients.push(client);
    }
    const waiting = async () => (await gateway.simulator.stats())[path]?.["open"];
    await until("the provider has all calls", async () => (await waiting()) === clients.length);
    for (const client of clients) client.destroy();
    await gateway.simulator.release("left");
    await noCallsInFlight(gateway);
    const calls = () => usage(gateway, customer.accountId);
    await until("all are committed", async () => (await calls()).length === clients.length);
    for (const call of await calls()) t.match(call, { quantity: 2, cost_vnd: "2000" });
    t.ok((await calls()).some(({ outcome }) => outcome === "gone"));
  });
});
