import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import type { EndedCall } from "../../../core/plugin/call.ts";
import { failures, isOwnFailure } from "../../../core/upstream/failure-cause.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

type Behaviour = (response: ServerResponse) => unknown;

const EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const body = (stream: boolean) =>
  JSON.stringify({ model: "m", stream, messages: [{ role: "user" }] });
const streamed = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const json = (response: ServerResponse, status: number) =>
  response
    .writeHead(status, { "content-type": "application/json" })
    .end('{"choices":[{"message":{"content":"a"}}]}');

/** A server in front of one upstream, which behaves as each call asks for. */
async function setUp(t: Test) {
  let behave: Behaviour = (response) => json(response, 200);
  const server = await startServer([], (request, response) => {
    request.resume();
    request.once("end", () => behave(response));
  });
  t.teardown(() => server.close());
  const call = async (stream: boolean, next: Behaviour): Promise<EndedCall | undefined> => {
    behave = next;
    const count = server.ended.length + 1;
    const client = await RawClient.open(server.port);
    await client.send(rawPost("/v1/chat/completions", "key", body(stream)));
    await client.response();
    client.destroy();
    await until("it is reported", () => server.ended.length === count);
    return server.ended.at(-1);
  };
  return { server, call };
}

t.test("the end of a call names why each attempt failed", async (t) => {
  const { call } = await setUp(t);
  const rows: readonly (readonly [causes: string, stream: boolean, behave: Behaviour])[] = [
    ["", false, (response) => json(response, 200)],
    ["", false, (response) => json(response, 400)],
    ["http_500 HTTP 500", false, (response) => json(response, 500)],
    ["limit HTTP 429", false, (response) => json(response, 429)],
    ["key HTTP 401", false, (response) => json(response, 401)],
    ["cut a stream ended before completion", true, (response) => streamed(response).end(EVENT)],
    [
      "connection UND_ERR_SOCKET",
      true,
      (response) => streamed(response).write(EVENT, () => response.destroy()),
    ],
    [
      "unreadable Z_DATA_ERROR",
      false,
      (response) => response.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
    ],
    ["", false, (response) => json(response, 200)],
    [
      "connection UND_ERR_SOCKET, connection UND_ERR_SOCKET",
      false,
      (response) => response.socket?.destroy(),
    ],
  ];
  for (const [causes, stream, behave] of rows) {
    const ended = await call(stream, behave);
    const found = ended?.failedAttempts ?? [];
    t.equal(
      found.map(({ cause, reason }) => `${cause} ${reason}`).join(),
      causes.replace(", ", ","),
    );
    for (const { upstream } of found) t.equal(upstream, ended?.route?.upstream);
  }
});

t.test("an upstream that fails five times is logged once, with the reason", async (t) => {
  const { server, call } = await setUp(t);
  for (let at = 0; at < 6; at += 1) await call(false, (response) => json(response, 500));
  const lines = server.logged.filter(({ msg }) => String(msg).startsWith("an upstream fails"));
  t.match(lines, [{ level: 40, upstream: String, reason: "HTTP 500" }]);
  t.equal(lines.length, 1);
});

t.test("what cannot be sent does not count against the upstream", async (t) => {
  const { server, call } = await setUp(t);
  const first = await call(false, (response) => json(response, 200));
  const upstream = server.upstreams.get(first?.route?.upstream ?? "");
  assert.ok(upstream);
  t.capture(upstream.adapter, "authorise", () => ["x-key", "a\u007fb"]);
  for (let at = 0; at < 6; at += 1) {
    const ended = await call(false, (response) => json(response, 200));
    t.equal(ended?.status, 502);
    t.match(ended?.failedAttempts, [{ cause: "gateway", reason: "UND_ERR_INVALID_ARG" }]);
  }
  for (const { breaker } of upstream.breakers) {
    t.equal(breaker.state, "closed");
    t.equal(breaker.failures, 0);
  }
  t.match(
    server.logged.find(({ level }) => level === 50),
    { msg: "cannot send a call to an upstream; trying the next route" },
  );
});

t.test("an error of Node or undici has one of few causes", async (t) => {
  const table = {
    dns: ["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL"],
    connect: ["ECONNREFUSED", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
    tls: ["CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    connection: ["ECONNRESET", "UND_ERR_SOCKET", "E_MADE_UP"],
    silent: ["UND_ERR_HEADERS_TIMEOUT"],
    unreadable: ["HPE_INVALID_CONSTANT", "Z_BUF_ERROR", "ERR__ERROR_FORMAT_PADDING_1"],
    gateway: ["UND_ERR_INVALID_ARG", "EMFILE", "UND_ERR_DESTROYED"],
  };
  for (const [cause, codes] of Object.entries(table)) {
    for (const code of codes) {
      const failure = failures.byError(Object.assign(new Error("with content"), { code }));
      t.strictSame(failure, { cause, reason: code });
      t.equal(isOwnFailure(failure), cause === "gateway");
    }
  }
  const plain = failures.byError(new Error("with content"));
  t.strictSame(plain, { cause: "connection", reason: "the connection failed" });
});
