import type { ServerResponse } from "node:http";
import t from "tap";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const STREAMED = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user" }] });
const WHOLE = JSON.stringify({ model: "m", messages: [{ role: "user" }] });
const WHOLE_STREAM = `${EVENT}data: [DONE]\n\n`;

/** Sends calls, one after the other, to an upstream; returns the states of its breaker after each. */
async function calls(count: number, body: string, behave: (response: ServerResponse) => void) {
  const server = await startServer([], (request, response) => {
    request.resume();
    request.once("end", () => behave(response));
  });
  const states: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const client = await RawClient.open(server.port);
    await client.send(rawPost("/v1/chat/completions", "key", body));
    await client.response();
    client.destroy();
    await until("it is reported", () => server.ended.length === at + 1);
    const { upstream = "" } = server.ended.at(-1)?.route ?? {};
    const breakers = server.upstreams.get(upstream)?.breakers ?? [];
    const [, { breaker } = { breaker: undefined }] = [...breakers];
    states.push(breaker?.state ?? "closed");
  }
  await server.close();
  return states.join(" ");
}

const streamed = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });

t.test("an upstream's breaker opens after five streams in a row", async (t) => {
  const opened = "closed closed closed closed open";

  t.test("that ended without their last event", async (t) => {
    t.equal(await calls(5, STREAMED, (response) => streamed(response).end(EVENT)), opened);
  });

  t.test("that broke off with the connection", async (t) => {
    const behave = (response: ServerResponse) =>
      streamed(response).write(EVENT, () => response.destroy());
    t.equal(await calls(5, STREAMED, (response) => void behave(response)), opened);
  });

  t.test("that stated an error before their last event", async (t) => {
    const error = 'data: {"error":{"message":"The engine is dead.","code":500}}\n\n';
    const stream = `${EVENT}${error}data: [DONE]\n\n`;
    t.equal(await calls(5, STREAMED, (response) => streamed(response).end(stream)), opened);
  });

  t.test("and closes after a whole one", async (t) => {
    let sent = 0;
    const behave = (response: ServerResponse) => {
      sent += 1;
      streamed(response).end(sent === 6 ? WHOLE_STREAM : EVENT);
    };
    t.equal(await calls(6, STREAMED, behave), `${opened} closed`);
  });
});

t.test(
  "streams that end with the caller's own error say nothing against the upstream",
  async (t) => {
    const error = 'data: {"error":{"message":"m","code":"context_length_exceeded"}}\n\n';
    for (const sent of [error, EVENT + error, `${EVENT}${error}data: [DONE]\n\n`]) {
      const states = await calls(5, STREAMED, (response) => streamed(response).end(sent));
      t.equal(states, Array(5).fill("closed").join(" "));
    }
  },
);

t.test("a whole stream or reply between cut ones keeps the breaker closed", async (t) => {
  for (const isStream of [true, false]) {
    let sent = 0;
    const states = await calls(8, isStream ? STREAMED : WHOLE, (response) => {
      sent += 1;
      if (sent !== 4) return void streamed(response).end(EVENT);
      if (isStream) return void streamed(response).end(WHOLE_STREAM);
      response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"choices":[{"message":{"content":"a"}}]}');
    });
    t.equal(states, Array(8).fill("closed").join(" "));
  }
});

t.test(
  "a client that leaves before the reply is recorded with 499, and one in a stream with 200",
  async (t) => {
    for (const [isBegun, expected] of [
      [false, 499],
      [true, 200],
    ] as const) {
      let asked = 0;
      const server = await startServer([], (request, response) => {
        request.resume();
        request.once("end", () => {
          if (isBegun) {
            response.writeHead(200, { "content-type": "text/event-stream" }).write(EVENT);
          }
          asked += 1;
        });
      });
      const client = await RawClient.open(server.port);
      await client.send(rawPost("/v1/chat/completions", "key", STREAMED));
      await until("the upstream has the call", () => asked === 1);
      if (isBegun) await until("the stream has begun", () => client.pending.includes("content"));
      client.reset();
      await until("the call has ended", () => server.ended.length === 1);
      t.match(server.ended[0], { status: expected, outcome: "gone" });
      await server.close();
    }
  },
);
