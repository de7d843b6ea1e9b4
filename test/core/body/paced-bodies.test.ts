import t from "tap";
import type { CallerKey } from "../../../core/accounts/index.ts";
import { type Plugin, refuse } from "../../../core/plugin/index.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const MB = 1_048_576;
const PATH = "/v1/chat/completions";
const key = { id: "key", accountId: "account" } as CallerKey;
/** Four of them are more than an account may send without a wait. */
const MESSAGES = [{ role: "user", content: "x".repeat(12 * MB) }];
const BODY = Buffer.from(JSON.stringify({ model: "m", messages: MESSAGES }));

for (const engine of hasNativeEngine ? (["native", "node"] as const) : (["node"] as const)) {
  t.test(`with the engine ${engine}, long bodies of one account`, async (t) => {
    const read: number[] = [];
    const counting: Plugin = {
      name: "counting",
      admit(call) {
        call.key = key;
        return undefined;
      },
      request(call) {
        read.push(call.bodyBytes);
        return refuse.rateLimited("counted");
      },
    };
    const { port, server, ended, close } = await startServer(
      [counting],
      () => {},
      undefined,
      engine,
    );
    t.teardown(close);

    t.test("arrive whole if it sends several at once, and their connections stay", async (t) => {
      const send = async () => {
        const client = await RawClient.open(port);
        const statuses = [];
        for (const body of [BODY, "{}"]) {
          await client.send(rawPost(PATH, "key", body));
          statuses.push((await client.response()).status);
        }
        client.destroy();
        return statuses;
      };
      const statuses = await Promise.all([send(), send(), send(), send()]);
      t.strictSame(statuses, Array(4).fill([429, 400]));
      t.strictSame(read, Array(4).fill(BODY.length));
    });

    t.test("may be given up at any time", async (t) => {
      const leave = async () => {
        const client = await RawClient.open(port);
        void client.send(rawPost(PATH, "key", BODY).subarray(0, 10 * MB));
        return client;
      };
      const before = ended.length;
      const clients = await Promise.all([leave(), leave(), leave(), leave()]);
      await until("all have begun", () => server.callsInFlight.size === 4);
      for (const client of clients) client.reset();
      await until("all have ended", () => ended.length === before + 4);
      t.equal(server.callsInFlight.size, 0);
    });

    t.test("are cut with the refusal once a hundred connections wait to be cut", async (t) => {
      const ask = async () => {
        const client = await RawClient.open(port);
        await client.send(rawPost(PATH, "key", "", { "content-length": String(1e9) }));
        t.equal((await client.response()).status, 413);
        return client;
      };
      const clients = await Promise.all(Array.from({ length: 100 }, ask));
      t.ok(clients.every(({ ended }) => !ended));
      await (await ask()).closed;
      for (const client of clients) client.destroy();
    });
  });
}
