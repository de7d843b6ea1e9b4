import t from "tap";
import { openListener } from "../../../core/listener/index.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { RawClient } from "../../support/raw-client.ts";

const LINES_OF_150 = Array.from({ length: 150 }, (_, at) => `x-${at}: a\r\n`).join("");
const POST = "POST /echo HTTP/1.1\r\nhost: h\r\n";
const CHUNKED = `${POST}transfer-encoding: chunked\r\n\r\n`;

/**
 * The request, and the status by node:http and by uWebSockets.js; "silence": it waits for more, and cuts when idle;
 * "unread": the build for Node 20 and 22 does that too, the one for 24 replies with 400.
 */
const HEADS: readonly (readonly [
  what: string,
  sent: string,
  node: number,
  native: number | "silence" | "unread",
])[] = [
  ["no host", "GET /path HTTP/1.1\r\nx: y\r\n\r\n", 400, 400],
  ["no headers", "GET /path HTTP/1.1\r\n\r\n", 400, "unread"],
  ["HTTP/1.0", "GET /path HTTP/1.0\r\nhost: h\r\n\r\n", 505, 505],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505],
  ["TLS", "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03\r\n\r\n", 400, 505],
  ["a whole address", "GET http://h/path HTTP/1.1\r\nhost: h\r\n\r\n", 200, 505],
  ["a whole address without a path", "GET http://h?a=1 HTTP/1.1\r\nhost: h\r\n\r\n", 404, 505],
  ["a proxy's method", "CONNECT h:80 HTTP/1.1\r\nhost: h\r\n\r\n", 405, 505],
  ["an unknown expectation", `${POST}expect: miracles\r\ncontent-length: 2\r\n\r\n{}`, 200, 200],
  ["a header of 20 KB", `${POST}x: ${"a".repeat(20_000)}\r\n\r\n`, 431, 431],
  ["150 headers", `GET /path HTTP/1.1\r\nhost: h\r\n${LINES_OF_150}\r\n`, 200, 431],
  ["a header in two lines", `${POST}x: a\r\n b\r\ncontent-length: 2\r\n\r\n{}`, 400, "unread"],
  ["a control character", `${POST}x: a\x01b\r\ncontent-length: 2\r\n\r\n{}`, 400, "unread"],
  ["a space before a colon", `${POST}transfer-encoding : chunked\r\n\r\n`, 400, "unread"],
  ["a header without a colon", `${POST}x\r\n\r\n`, 400, "unread"],
  ["no HTTP", "GARBAGE\r\n\r\n", 400, "silence"],
  ["a chunk extension", `${CHUNKED}2;a=b\r\n{}\r\n0\r\n\r\n`, 200, "silence"],
  [
    "a length and chunks",
    `${POST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`,
    400,
    400,
  ],
  ["a chunk of no size", `${CHUNKED}zz\r\n`, 400, 400],
  ["chunks ended by bare line feeds", `${CHUNKED}2\n{}\n0\n\n`, 400, 200],
  ["bytes behind a chunk", `${CHUNKED}2\r\n{}XX0\r\n\r\n`, 400, 200],
];

const hasNewerBuild = Number(process.versions.modules) >= 137;

for (const engine of hasNativeEngine ? (["native", "node"] as const) : (["node"] as const)) {
  t.test(`the listener on ${engine} gets a request with`, async (t) => {
    const listener = await openListener({ engine, headerBytesMax: 16_384 });
    listener.post("/echo", (response) => {
      response.onAborted(() => {});
      response.onData((_, isLast) => {
        if (isLast) response.cork(() => response.writeStatus("200 OK").end("echo"));
      });
    });
    listener.get("/path", (response) => void response.writeStatus("200 OK").end("path"));
    listener.any("/*", (response) => void response.writeStatus("404 Not Found").end("none"));
    const port = await listener.listen("127.0.0.1", 0);
    t.teardown(() => listener.close());

    for (const [what, sent, onNode, onNative] of HEADS) {
      const status = engine === "node" ? onNode : onNative;
      if (typeof status === "string") continue;
      t.test(`${what}: ${status}`, async (t) => {
        const client = await RawClient.open(port);
        await client.send(Buffer.from(sent, "latin1"));
        await client.sees("\r\n\r\n");
        t.match(client.pending.toString(), new RegExp(`^HTTP/1.1 ${status} `));
        if (engine === "node" && status >= 400 && status !== 404) {
          await client.closed;
          t.match(client.pending.toString(), /^connection: close\r$/im);
          t.match(client.pending.toString(), /\{"error":\{"message":"[^"]+"/);
        }
        client.destroy();
      });
    }

    t.test("the word that it is the last: the reply says so too", async (t) => {
      const client = await RawClient.open(port);
      await client.send("GET /path HTTP/1.1\r\nhost: h\r\nConnection: Close\r\n\r\n");
      await client.closed;
      t.match(client.pending.toString(), /^connection: close\r$/im);
      t.match(client.pending.toString(), /path$/);
    });
  });
}

t.test(
  "a head that the native engine cannot read is cut",
  {
    skip: !hasNativeEngine,
    jobs: HEADS.length,
  },
  async (t) => {
    const listener = await openListener({ engine: "native", headerBytesMax: 16_384 });
    listener.any("/*", (response) => {
      response.onAborted(() => {});
      response.onData(() => {});
    });
    const port = await listener.listen("127.0.0.1", 0);
    t.teardown(() => listener.close());
    for (const [what, sent, , onNative] of HEADS) {
      if (typeof onNative === "number") continue;
      t.test(what, async (t) => {
        const client = await RawClient.open(port);
        await client.send(Buffer.from(sent, "latin1"));
        await client.closed;
        const reply = onNative === "unread" && hasNewerBuild ? /^HTTP\/1.1 400 / : /^$/;
        t.match(client.pending.toString(), reply);
      });
    }
  },
);
