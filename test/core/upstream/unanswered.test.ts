import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import t, { type Test } from "tap";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const BODY = JSON.stringify({ model: "m", messages: [{ role: "user" }] });

/** The reply of a provider to a request: `use` counts those of its connection, from 1. */
type Behave = (response: ServerResponse, use: number) => void;

const serve = (response: ServerResponse) =>
  response
    .writeHead(200, { "content-type": "application/json" })
    .end('{"choices":[{"message":{"content":"a"}}]}');

async function setUp(t: Test) {
  let behave: Behave = serve;
  const uses = new Map<Socket, number>();
  const server = await startServer([], (request: IncomingMessage, response) => {
    const use = (uses.get(request.socket) ?? 0) + 1;
    uses.set(request.socket, use);
    request.resume().once("end", () => behave(response, use));
  });
  t.teardown(() => server.close());
  const send = async () => {
    const client = await RawClient.open(server.port);
    await client.send(rawPost("/v1/chat/completions", "key", BODY));
    const { status } = await client.response();
    client.destroy();
    return status;
  };
  const reported = (count: number) => until("it is reported", () => server.ended.length === count);
  const call = async () => {
    const count = server.ended.length + 1;
    const status = await send();
    await reported(count);
    const ended = server.ended.at(-1);
    assert.ok(ended);
    const why = ended.failedAttempts.map(({ reason, lost }) => `${reason}${lost ? ", lost" : ""}`);
    return { status, attempts: ended.attempts, why };
  };
  /** Opens so many connections, which are idle after that. */
  const open = async (count: number) => {
    const waiting: (() => void)[] = [];
    behave = (response) => waiting.push(() => serve(response));
    const sent = Array.from({ length: count }, send);
    await until("all are there", () => waiting.length === count);
    for (const reply of waiting) reply();
    await Promise.all(sent);
    await reported(count);
    t.equal(uses.size, count);
  };
  const failuresInRow = () =>
    [...server.upstreams.all()].flatMap(({ breakers }) =>
      [...breakers].map(({ breaker }) => breaker.failuresInRow),
    );
  return {
    call,
    open,
    failuresInRow,
    behaves(next: Behave) {
      behave = next;
    },
  };
}

const ENDS: readonly (readonly [string, string, (socket: Socket) => void])[] = [
  ["resets", "ECONNRESET", (socket) => socket.resetAndDestroy()],
  ["closes", "UND_ERR_SOCKET", (socket) => socket.destroy()],
];

for (const [ends, reason, end] of ENDS) {
  const endIdle: Behave = (response, use) => {
    if (use === 1) serve(response);
    else if (response.socket) end(response.socket);
  };

  t.test(`a call on an idle connection that its provider ${ends} is sent again`, async (t) => {
    const { behaves, call, open, failuresInRow } = await setUp(t);
    await open(3);
    behaves(endIdle);
    // Not on another idle one, which may be closed as well.
    const { status, attempts, why } = await call();
    t.strictSame({ status, attempts, why }, { status: 200, attempts: 2, why: [reason] });
    t.ok(
      failuresInRow().every((count) => count === 0),
      "the provider works",
    );
  });

  t.test(`a call is sent once more to a provider that ${ends} all connections`, async (t) => {
    const { behaves, call, failuresInRow } = await setUp(t);
    behaves((response) => response.socket && end(response.socket));
    const { status, attempts, why } = await call();
    t.strictSame({ status, attempts, why }, { status: 502, attempts: 2, why: [reason, reason] });
    t.ok(failuresInRow().includes(2));
    for (let at = 0; at < 10; at++) await call();
    t.equal((await call()).attempts, 1, "an outage is not multiplied");
  });

  t.test(
    `a call that is part of the way to a reply when its provider ${ends} is not`,
    async (t) => {
      const { behaves, call, open } = await setUp(t);
      await open(1);
      behaves((response) => {
        const { socket } = response;
        socket?.write("HTTP/1.1 200 O", () => setTimeout(() => end(socket), 50));
      });
      const { status, attempts, why } = await call();
      t.strictSame({ status, attempts, why }, { status: 502, attempts: 1, why: [reason] });
    },
  );
}
