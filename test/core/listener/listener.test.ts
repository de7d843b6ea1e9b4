import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type HttpResponse, type Listener, openListener } from "../../../core/listener/index.ts";
import { whyNotNative } from "../../../core/listener/native-build.ts";
import { objectOf } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { recordedLog } from "../../support/log.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { RawClient } from "../../support/raw-client.ts";
import { until } from "../../support/until.ts";

const ENGINES = hasNativeEngine ? (["native", "node"] as const) : (["node"] as const);
const LARGE_BYTES = 3_000_000;

/** Replies with what it received: the length of each body, so that a lost end is seen. */
function echo(response: HttpResponse): void {
  let bytes = 0;
  response.onAborted(() => {});
  response.onData((lent, isLast) => {
    bytes += lent.byteLength;
    if (isLast) response.cork(() => response.writeStatus("200 OK").end(String(bytes)));
  });
}

for (const engine of ENGINES) {
  t.test(`the listener on ${engine}`, async (t) => {
    const listener = await openListener({ engine, headerBytesMax: 16_384 });
    const left: string[] = [];
    listener.post("/echo", echo);
    listener.get("/query", (response, request) => {
      const names: string[] = [];
      request.forEach((name) => void names.push(name));
      const seen = [request.getUrl(), request.getQuery() ?? "none", names.includes("x-twice")];
      response.writeHeader("x-one", "1\r\nx-two: 2").end(seen.join(" "));
    });
    listener.get("/stream", (response) => {
      response.onAborted(() => left.push("stream"));
      response.cork(() => {
        response.write("a");
        response.write(new Uint8Array([98]));
        response.end("c");
      });
    });
    listener.get("/large", (response) => {
      const body = new Uint8Array(LARGE_BYTES).fill(120);
      response.onAborted(() => left.push("large"));
      if (response.tryEnd(body, LARGE_BYTES)[1]) return;
      response.onWritable((offset) => response.tryEnd(body.subarray(offset), LARGE_BYTES)[1]);
    });
    listener.get("/cut", (response) => {
      response.onAborted(() => left.push("cut"));
      response.write("half");
      setImmediate(() => response.close());
    });
    listener.get("/hang", (response) => void response.onAborted(() => left.push("hang")));
    listener.get("/later", (response) => {
      let gone = false;
      response.onAborted(() => {
        gone = true;
      });
      setImmediate(() => gone || response.cork(() => response.end("late")));
    });
    listener.any("/*", (response, request) => {
      const { length } = request.getCaseSensitiveMethod();
      response.writeStatus("404 Not Found").writeHeader("content-length", String(length));
      response.endWithoutBody();
    });
    const port = await listener.listen("127.0.0.1", 0);
    t.teardown(() => listener.close());
    const url = `http://127.0.0.1:${port}`;

    t.test("gives a request for a WebSocket to its handler", async (t) => {
      const client = await RawClient.open(port);
      const upgrade = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13";
      const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
      await client.send(`GET /query?a HTTP/1.1\r\nhost: a\r\n${upgrade}\r\n${key}\r\n\r\n`);
      const { status, body } = await client.response();
      t.equal(status, 200);
      t.equal(body.toString(), "/query a false");
      client.destroy();
    });

    t.test("reads bodies of a length, chunked, large and empty, to their end", async (t) => {
      const post = async (body: BodyInit | undefined) => {
        const init = { method: "POST", body, duplex: "half" };
        return Number(await (await fetch(`${url}/echo`, init as RequestInit)).text());
      };
      t.equal(await post("12345"), 5);
      t.equal(await post(undefined), 0);
      t.equal(await post(new Uint8Array(LARGE_BYTES)), LARGE_BYTES);
      t.equal(await post(new Blob(["123", "45"]).stream() as unknown as BodyInit), 5);
    });

    t.test("gives path, query and headers, and sends headers and bodies", async (t) => {
      const response = await fetch(`${url}/query?a=1&b=2`, { headers: { "X-Twice": "y" } });
      t.equal(await response.text(), "/query a=1&b=2 true");
      t.strictSame([response.headers.get("x-one"), response.headers.get("x-two")], ["1", "2"]);
      t.equal(await (await fetch(`${url}/query`)).text(), "/query none false");
      t.equal(await (await fetch(`${url}/stream`)).text(), "abc");
      t.equal((await (await fetch(`${url}/large`)).arrayBuffer()).byteLength, LARGE_BYTES);
      const head = await fetch(`${url}/nothing`, { method: "HEAD" });
      t.strictSame([head.status, head.headers.get("content-length")], [404, "4"]);
      t.strictSame(left, []);
    });

    t.test("reports a client that leaves, and a connection that it cuts itself", async (t) => {
      await t.rejects(fetch(`${url}/cut`).then((response) => response.text()));
      t.strictSame(left, ["cut"]);
      const client = await RawClient.open(port);
      await client.send("GET /hang HTTP/1.1\r\nhost: h\r\n\r\n");
      client.destroy();
      while (!left.includes("hang")) await new Promise((resolve) => setTimeout(resolve, 5));
    });

    t.test("refuses HTTP/1.0, and what is no HTTP", async (t) => {
      for (const [sent, status] of [
        ["GET /query HTTP/1.0\r\n\r\n", 505],
        ["no HTTP\r\n\r\n", engine === "node" ? 400 : 505],
      ] as const) {
        const client = await RawClient.open(port);
        await client.send(sent);
        await client.closed;
        t.match(client.pending.toString(), new RegExp(`^HTTP/1.1 ${status} `));
      }
    });

    t.test("cuts a connection that sends hundreds of requests before their replies", async (t) => {
      const client = await RawClient.open(port);
      await client.send("GET /later HTTP/1.1\r\nhost: g\r\n\r\n".repeat(500));
      await client.closed;
      t.ok(client.pending.toString().split("late").length < 250);
    });

    t.test("cannot listen on a port that is in use", async (t) => {
      const other: Listener = await openListener({ engine, headerBytesMax: 16_384 });
      await t.rejects(other.listen("127.0.0.1", port), /cannot listen on 127/);
      other.close();
    });

    t.test("keeps open connections when it stops, and asks their clients to leave", async (t) => {
      const stopping = await openListener({ engine, headerBytesMax: 16_384 });
      t.teardown(() => stopping.close());
      stopping.get("/", (response) => void response.writeStatus("200 OK").end("ok"));
      const stoppingPort = await stopping.listen("127.0.0.1", 0);
      const clients = [await RawClient.open(stoppingPort), await RawClient.open(stoppingPort)];
      const get = async (client = clients[0]) => {
        await client?.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
        return client?.response();
      };
      t.not((await get())?.headers["connection"], "close");
      await get(clients[1]);
      t.equal(stopping.connections, 2);
      await stopping.stopListening();
      await t.rejects(RawClient.open(stoppingPort));
      t.notOk(clients.some(({ ended }) => ended));
      const last = await get();
      t.strictSame([last?.status, last?.headers["connection"]], [200, "close"]);
      for (const client of clients) client.destroy();
      await until("both are gone", () => stopping.connections === 0);
    });

    t.test("asks no client to leave while it would find the port open again", async (t) => {
      const stopping = await openListener({ engine, headerBytesMax: 16_384 });
      t.teardown(() => stopping.close());
      stopping.get("/", (response) => void response.writeStatus("200 OK").end("ok"));
      const stoppingPort = await stopping.listen("127.0.0.1", 0);
      const client = await RawClient.open(stoppingPort);
      // New clients put off the moment in which the port is closed.
      let isRefused = false;
      const newcomers = (async () => {
        while (!isRefused) {
          await RawClient.open(stoppingPort).then(
            (newcomer) => newcomer.destroy(),
            () => {
              isRefused = true;
            },
          );
        }
      })();
      const stopped = stopping.stopListening();
      let isLast = false;
      while (!isLast) {
        await client.send("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
        isLast = (await client.response()).headers["connection"] === "close";
      }
      await t.rejects(RawClient.open(stoppingPort));
      await stopped;
      await newcomers;
      client.destroy();
    });
  });
}

t.test("an engine that cannot be loaded is replaced, with one line in the log", async (t) => {
  const { log, lines } = recordedLog();
  const listener = await openListener({ headerBytesMax: 16_384, log });
  t.match(listener.build, hasNativeEngine ? /^native \(\S+ \d+\.\d+\.\d+\)$/ : /^node:http$/);
  t.equal(lines.length, hasNativeEngine ? 0 : 1);
  listener.close();
  if (hasNativeEngine) return;
  t.match(lines[0], { msg: /a third more processor time/, reason: process.version });
  const native = openListener({ engine: "native", headerBytesMax: 16_384 });
  await t.rejects(native, /^listen\.engine: .* uWebSockets\.js .*; or set auto or node$/);
});

t.test("a machine without the native engine reads what it needs", async (t) => {
  const linux = { glibc: "2.41", platform: "linux" };
  const node22 = { ...linux, node: "v22.23.3", abi: "127" };
  const node24 = { ...linux, node: "v24.21.0", abi: "137" };
  const node26 = { ...linux, node: "v26.3.0", abi: "147" };
  const install =
    /Node v24\.21\.0 .*`npm install --no-save @btc-vision\/uwebsockets\.js@\d+\.\d+\.\d+`, on a server with --omit=dev$/;
  for (const [system, advice] of [
    [node22, /cannot be loaded by Node v22\.23\.3 \(a reason\)$/],
    [node24, install],
    [{ ...node24, platform: "darwin", glibc: undefined }, install],
    [{ ...node24, glibc: "2.9" }, /needs glibc 2\.38, and this system has 2\.9; run Node 22/],
    [{ ...node24, glibc: undefined }, /needs glibc, which Debian has/],
    [node26, /has no build of uWebSockets\.js for Node v26\.3\.0; run Node 22 or 24$/],
  ] as const) {
    t.match(whyNotNative(system, "a reason", false), advice);
  }
  t.match(whyNotNative(node24, "a reason", true), /cannot be loaded by Node v24.* \(a reason\)$/);
});

t.test(
  "npm prints no warning for uWebSockets.js, whose package wrongly excludes Node 20",
  async (t) => {
    const lock = JSON.parse(readFileSync(join(packageRoot, "package-lock.json"), "utf8"));
    const entry = objectOf(objectOf(lock.packages)?.["node_modules/uWebSockets.js"]);
    t.equal(entry?.["engines"], undefined, "remove `engines` from its entry in package-lock.json");
  },
);
