import t from "tap";
import { committedWallet, createCustomer, usage, wallet } from "../support/admin.ts";
import { bodyOf } from "../support/ask.ts";
import { billedCalls } from "../support/billed.ts";
import type { TestGateway } from "../support/gateway.ts";
import { hasNativeEngine } from "../support/native-engine.ts";
import {
  assertReconciled,
  callsInFlight,
  callsLeft,
  noCallsInFlight,
  spent,
} from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 100_000;
/** More requests than a turn of the gateway serves at once. */
const MANY = 500;
/** Replies once its name is released. */
const SLOW = { delay_ms: 600_000 };
/** A call of `bodyOf(PATH)`. */
const CALL_MICRO_VND = 504_000n;

let gateway: TestGateway;

t.before(async () => {
  gateway = await sharedGateway();
});

const newCustomer = () => createCustomer(gateway, { creditVnd: CREDIT_VND });

async function upstreamTally(): Promise<{ open: number; aborted: number; calls: number }> {
  const { open = 0, aborted = 0, calls = 0 } = (await gateway.simulator.stats())[PATH] ?? {};
  return { open, aborted, calls };
}

function get(path: string, key: string, method = "GET"): string {
  return `${method} ${path} HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${key}\r\n\r\n`;
}

t.test("a connection", async (t) => {
  t.test("serves call after call, streamed and not", async (t) => {
    const { key } = await newCustomer();
    const client = await RawClient.open(gateway.port);
    for (const stream of [false, true, false, true]) {
      await client.send(rawPost(PATH, key, bodyOf(PATH, { output_tokens: 2 }, { stream })));
      const { status, whole, body } = await client.response();
      t.equal(status, 200);
      t.equal(whole, true);
      t.match(body.toString(), stream ? /message_stop/ : /"type":"message"/);
    }
    client.destroy();
  });

  t.test("stays open after calls that were refused", async (t) => {
    const { key } = await newCustomer();
    const client = await RawClient.open(gateway.port);
    for (const [wrongKey, body, expected] of [
      ["tg-wrong", "{}", 401],
      [key, "{", 400],
      [key, "{}", 400],
      [key, bodyOf(PATH, { status: 418 }), 418],
      [key, bodyOf(PATH, { status: 500 }), 502],
      [key, bodyOf(PATH), 200],
    ] as const) {
      await client.send(rawPost(PATH, wrongKey, body));
      t.equal((await client.response()).status, expected);
    }
    client.destroy();
  });

  for (const stream of [false, true]) {
    t.test(`that its client ends is announced to end (streamed: ${stream})`, async (t) => {
      const { key } = await newCustomer();
      const client = await RawClient.open(gateway.port);
      const body = bodyOf(PATH, { output_tokens: 2 }, { stream });
      await client.send(rawPost(PATH, key, body, { connection: "close" }));
      const { status, whole, headers } = await client.response();
      t.strictSame([status, whole, headers["connection"]], [200, true, "close"]);
      await client.closed;
    });
  }

  for (const [what, more] of [
    ["two hosts", "host: another\r\n"],
    ["trailers", "trailer: x-sum\r\n"],
  ] as const) {
    t.test(`is cut behind a request with ${what}`, async (t) => {
      const { key } = await newCustomer();
      const client = await RawClient.open(gateway.port);
      const head = `POST ${PATH} HTTP/1.1\r\nhost: g\r\nx-api-key: ${key}\r\n${more}`;
      await client.send(`${head}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`);
      const { status, headers } = await client.response();
      t.strictSame([status, headers["connection"]], [400, "close"]);
      await client.closed;
    });
  }

  t.test("replies to pipelined requests without an upstream in their order", async (t) => {
    const { key } = await newCustomer();
    const client = await RawClient.open(gateway.port);
    await client.send(get("/healthz", key) + get("/v2/x", key) + get("/healthz", key));
    for (const status of [200, 404, 200]) t.equal((await client.response()).status, status);
    client.destroy();
  });

  for (const [what, request] of [
    ["health checks", get("/healthz", "")],
    ["unknown paths", get("/v2/x", "")],
    ["calls without a key", rawPost(PATH, "tg-wrong", "{}").toString()],
    ["lists of models", get("/v1/models", "tg-wrong")],
  ] as const) {
    t.test(
      `is cut after its share of a turn if it sends hundreds of ${what} at once`,
      async (t) => {
        const client = await RawClient.open(gateway.port);
        const sent = client.send(request.repeat(MANY));
        await client.closed;
        await sent;
        const replies = client.pending.toString("latin1").split("HTTP/1.1 ").length - 1;
        t.ok(replies < MANY / 2, `${replies} replies`);
        const { key } = await newCustomer();
        const next = await RawClient.open(gateway.port);
        await next.send(get("/v1/models", key));
        t.equal((await next.response()).status, 200);
        next.destroy();
      },
    );
  }

  t.test(
    "is cut if a request is pipelined behind a running call, which counts as left",
    { skip: !hasNativeEngine },
    async (t) => {
      const { key, accountId } = await newCustomer();
      const client = await RawClient.open(gateway.port);
      await client.send(rawPost(PATH, key, bodyOf(PATH, { ...SLOW, until: "pipelined" })));
      await until("the upstream is called", async () => (await upstreamTally()).open === 1);
      t.not((await wallet(gateway, accountId)).held, "0");
      await client.send(rawPost(PATH, key, bodyOf(PATH)));
      await client.closed;
      t.equal(client.pending.toString(), "");
      await gateway.simulator.release("pipelined");
      await noCallsInFlight(gateway);
      t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
      t.equal((await usage(gateway, accountId)).length, 1);
    },
  );

  const inOnePacket = hasNativeEngine
    ? "is cut if two calls arrive in one packet: neither is charged"
    : "serves two calls that arrive in one packet, one after the other";
  t.test(inOnePacket, async (t) => {
    const { key, accountId } = await newCustomer();
    const client = await RawClient.open(gateway.port);
    const call = rawPost(PATH, key, bodyOf(PATH));
    await client.send(Buffer.concat([call, call]));
    if (hasNativeEngine) await client.closed;
    else for (const _ of "12") t.equal((await client.response()).status, 200);
    client.destroy();
    await noCallsInFlight(gateway);
    const calls = hasNativeEngine ? 0n : 2n;
    t.equal(await spent(gateway, accountId, CREDIT_VND), calls * CALL_MICRO_VND);
  });

  t.test("half-closed by its client counts as closed: its call is left, and charged", async (t) => {
    const { key, accountId } = await newCustomer();
    const client = await RawClient.open(gateway.port, { allowHalfOpen: true });
    await client.send(rawPost(PATH, key, bodyOf(PATH, { ...SLOW, until: "half-closed" })));
    await until("the upstream is called", async () => (await upstreamTally()).open === 1);
    client.socket.end();
    await client.closed;
    await callsLeft(gateway, 1);
    await gateway.simulator.release("half-closed");
    await noCallsInFlight(gateway);
    const [record] = await billedCalls(gateway, { accountId }, 1);
    t.equal(record?.["outcome"], "left");
  });

  t.test("of another version of HTTP is refused", async (t) => {
    const client = await RawClient.open(gateway.port);
    await client.send("GET /healthz HTTP/1.0\r\n\r\n");
    await client.closed;
    t.match(client.pending.toString(), /^HTTP\/1\.1 505 /);
  });
});

t.test("a method", async (t) => {
  for (const path of ["/healthz", "/v1/models", "/v1/models/claude-opus-5-5"]) {
    t.test(`HEAD ${path} gets the reply of GET, without the body`, async (t) => {
      const { key } = await newCustomer();
      const client = await RawClient.open(gateway.port);
      await client.send(get(path, key));
      const { status, body, headers } = await client.response();
      t.equal(status, 200);
      await client.send(get(path, key, "HEAD"));
      const head = await client.head();
      t.match(head, /^HTTP\/1\.1 200 /);
      t.match(head, new RegExp(`content-length: ${body.length}\r\n`, "i"));
      t.ok(head.includes(String(headers["content-type"])));
      await client.send(get("/v2/none", key));
      t.equal((await client.response()).status, 404, "the next reply follows");
      client.destroy();
    });
  }

  for (const [path, key, status] of [
    ["/v1/models", "tg-wrong", 401],
    ["/nothing", "", 404],
    [PATH, "", 405],
    ["/admin/v1/accounts", "", 401],
  ] as const) {
    t.test(`HEAD ${path} gets ${status} without a body`, async (t) => {
      const client = await RawClient.open(gateway.port);
      await client.send(get(path, key, "HEAD"));
      t.match(await client.head(), new RegExp(`^HTTP/1.1 ${status} `));
      await client.send(get("/v2/none", ""));
      t.equal((await client.response()).status, 404, "the next reply follows");
      client.destroy();
    });
  }

  for (const [method, path, allowed] of [
    ["OPTIONS", PATH, "POST"],
    ["GET", PATH, "POST"],
    ["DELETE", PATH, "POST"],
    // `node:http` reads a method that it does not know as no HTTP.
    ...(hasNativeEngine ? ([["BREW", PATH, "POST"]] as const) : []),
    ["POST", "/v1/models", "GET"],
    ["PUT", "/healthz", "GET"],
  ] as const) {
    t.test(`${method} ${path} gets 405 and the header allow with ${allowed}`, async (t) => {
      const response = await fetch(gateway.url + path, { method });
      t.equal(response.status, 405);
      t.equal(response.headers.get("allow"), allowed);
      t.match(await response.text(), /"message"/);
    });
  }
});

t.test("a WebSocket gets 426, after which clients go on over HTTP", async (t) => {
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  const upgrade = "connection: Upgrade\r\nupgrade: websocket\r\n";
  for (const [path, sent] of [
    ["/v1/responses", upgrade],
    [PATH, upgrade],
    // As behind a proxy, which keeps these two headers to itself.
    ["/v1/responses", ""],
  ] as const) {
    const client = await RawClient.open(gateway.port);
    const head = `GET ${path} HTTP/1.1\r\nhost: gateway\r\n${sent}`;
    await client.send(`${head}sec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`);
    const { status, headers, body } = await client.response();
    t.equal(status, 426, path);
    t.equal(headers["upgrade"], "HTTP/1.1");
    t.equal(headers["connection"]?.toLowerCase(), "upgrade");
    t.match(JSON.parse(body.toString()).error.message, /send the request with POST/);
    await client.send(get("/v1/models", (await newCustomer()).key));
    t.equal((await client.response()).status, 200, "the connection serves calls");
    client.destroy();
  }
});

t.test("a client that disconnects", async (t) => {
  t.test("before its body is complete is charged nothing, and no upstream is called", async (t) => {
    const { key, accountId } = await newCustomer();
    const { calls } = await upstreamTally();
    const body = bodyOf(PATH);
    const client = await RawClient.open(gateway.port);
    await client.send(
      rawPost(PATH, key, body.slice(0, -1), { "content-length": `${body.length}` }),
    );
    await until("the call is open", async () => (await callsInFlight(gateway)) === 1);
    client.reset();
    await noCallsInFlight(gateway);
    t.equal((await upstreamTally()).calls, calls);
    t.equal(await spent(gateway, accountId, CREDIT_VND), 0n);
    t.strictSame(await usage(gateway, accountId), []);
  });

  t.test("before the upstream has begun to stream is charged the input", async (t) => {
    const { key, accountId } = await newCustomer();
    const { aborted } = await upstreamTally();
    const client = await RawClient.open(gateway.port);
    await client.send(rawPost(PATH, key, bodyOf(PATH, { hang: true }, { stream: true })));
    await until("the upstream is called", async () => (await upstreamTally()).open === 1);
    client.destroy();
    await noCallsInFlight(gateway);
    await until(
      "the upstream is cancelled",
      async () => (await upstreamTally()).aborted === aborted + 1,
    );
    const [record] = await billedCalls(gateway, { accountId }, 1);
    t.match(record, { outcome: "gone", output_tokens: 0, estimated: true });
    t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
  });

  for (const how of ["destroy", "reset"] as const) {
    t.test(
      `in the middle of a stream is charged the input and what was delivered (${how})`,
      async (t) => {
        const { key, accountId } = await newCustomer();
        const { aborted } = await upstreamTally();
        const directive = {
          text: "one two three four",
          deltas: 4,
          silent_ms: 600_000,
          silent_after_events: 5,
        };
        const client = await RawClient.open(gateway.port);
        await client.send(rawPost(PATH, key, bodyOf(PATH, directive, { stream: true })));
        await client.sees("content_block_delta");
        client[how]();
        await noCallsInFlight(gateway);
        await until(
          "the upstream is cancelled",
          async () => (await upstreamTally()).aborted === aborted + 1,
        );
        const { held } = await committedWallet(gateway, accountId);
        t.equal(held, "0");
        const [record] = await usage(gateway, accountId);
        t.equal(record?.["outcome"], "gone");
        t.equal(record?.["estimated"], true);
        const outputTokens = Number(record?.["output_tokens"]);
        t.ok(outputTokens >= 1 && outputTokens <= 10, `${outputTokens} output tokens`);
        t.ok(Number(record?.["input_tokens"]) > 0);
        t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
      },
    );
  }

  t.test("in large numbers leaves nothing behind", async () => {
    const { key } = await newCustomer();
    const clients = await Promise.all(
      Array.from({ length: 100 }, () => RawClient.open(gateway.port)),
    );
    const directive = { output_tokens: 50, event_delay_ms: 3 };
    for (const [at, client] of clients.entries()) {
      await client.send(rawPost(PATH, key, bodyOf(PATH, directive, { stream: at % 2 === 0 })));
    }
    // All of these before any leaves: a customer who has left many calls gets 429 for more.
    for (const [at, client] of clients.entries()) {
      if (at % 4 === 0) await client.sees("message_start");
    }
    for (const [at, client] of clients.entries()) {
      if (at % 3 === 0) client.reset();
      else client.destroy();
    }
    await noCallsInFlight(gateway);
    await until("no upstream call is open", async () => (await upstreamTally()).open === 0);
    await assertReconciled(gateway);
  });
});
