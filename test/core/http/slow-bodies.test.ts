import type { RequestListener } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const ENGINES = hasNativeEngine ? (["native", "node"] as const) : (["node"] as const);
const PATH = "/v1/chat/completions";
/** In all 20 s, which is longer than any silence that the engines allow. */
const PIECES = 40;
const PIECE_BYTES = 1_000;
const PIECE_MS = 500;
const REPLY = JSON.stringify({ choices: [{ message: { role: "assistant", content: "x" } }] });

const replies: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "application/json" }).end(REPLY);
};

for (const engine of ENGINES) {
  t.test(`a body on a slow line, on ${engine}`, { jobs: 2 }, async (t) => {
    t.test("is read to its end as long as it arrives", async (t) => {
      const server = await startServer([], replies, undefined, engine);
      t.teardown(() => server.close());
      const content = "x".repeat(PIECES * PIECE_BYTES);
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
      const client = await RawClient.open(server.port);
      const headers = { "content-length": String(body.length) };
      await client.send(rawPost(PATH, "key", "", headers));
      for (let at = 0; at < body.length; at += PIECE_BYTES) {
        await client.send(body.slice(at, at + PIECE_BYTES));
        await delay(PIECE_MS);
      }
      t.match(await client.response(), { status: 200, whole: true });
      client.destroy();
    });

    t.test("is cut once the call has taken too long", async (t) => {
      const server = await startServer([], replies, undefined, engine);
      t.teardown(() => server.close());
      const { runtime, callsInFlight } = server.server;
      server.server.runtime = { ...runtime, limits: { ...runtime.limits, callMs: 3_000 } };
      const client = await RawClient.open(server.port);
      await client.send(rawPost(PATH, "key", "{", { "content-length": "1000000" }));
      const dripping = (async () => {
        while (await client.send(" ")) await delay(PIECE_MS);
      })();
      const { status, headers, body } = await client.response();
      t.strictSame([status, headers["connection"]], [408, "close"]);
      t.match(body.toString(), /did not arrive within the limit of 3 seconds/);
      await client.closed;
      await dripping;
      await until("no call is in flight", () => callsInFlight.size === 0);
      t.match(server.ended, [{ status: 408, outcome: "refused" }]);
    });
  });
}
