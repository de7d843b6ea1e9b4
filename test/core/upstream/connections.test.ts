import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { systemClock } from "../../../core/process/clock.ts";
import type { Attempt } from "../../../core/upstream/attempt.ts";
import { Attempt as NewAttempt } from "../../../core/upstream/attempt.ts";
import { failures } from "../../../core/upstream/failure-cause.ts";
import type { HttpUpstream } from "../../../core/upstream/http-upstream.ts";
import { proxyFor } from "../../../core/upstream/proxy.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { accepted, GATEWAY, swap } from "../config/files.ts";

async function listening(t: Test, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** An upstream at this address, with these settings. */
async function upstreamAt(t: Test, address: string, more = "", environment = {}) {
  const yaml = swap(GATEWAY, '"http://127.0.0.1:9001" }', `"${address}" }${more}`);
  const config = await accepted(t, { "gateway.yaml": yaml }, environment);
  const upstreams = new ConnectedUpstreams(config, systemClock, recordedLog().log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  if (!upstream) throw new Error("the config has it");
  return upstream;
}

/** Sends a request; resolves with the status, or with the reason why it failed. */
function send(upstream: HttpUpstream, origin: string, sent: (attempt: Attempt) => void = () => {}) {
  return new Promise<string>((resolve) => {
    const attempt = new NewAttempt(upstream, {
      sent: () => {},
      replied: (status) => {
        resolve(String(status));
        sent(attempt);
      },
      received: () => {},
      completed: () => {},
      failed: (error) => resolve(Object.values(failures.byError(error)).join(" ")),
      bug: (error) => resolve(String(error)),
    });
    attempt.send({ protocol: "messages", origin, path: "/", headers: [], body: "{}" }, []);
  });
}

t.test("a stream that is aborted leaves no connection behind", async (t) => {
  let opened = 0;
  const server = createServer((_request, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: a\n\n");
  });
  server.on("connection", () => opened++);
  const port = await listening(t, server);
  const origin = `http://127.0.0.1:${port}`;
  const upstream = await upstreamAt(t, origin);
  for (let at = 0; at < 5; at++) await send(upstream, origin, (attempt) => attempt.abort());
  const open = () =>
    new Promise<number>((done) => server.getConnections((_, count) => done(count)));
  await until("the aborted ones are closed", async () => (await open()) === 0);
  t.equal(opened, 5);
});

t.test("a stream that is held open after its end leaves its connection to the next", async (t) => {
  const server = createServer((_request, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: [DONE]\n\n");
    const comments = setInterval(() => response.write(": still here\n\n"), 100);
    response.on("close", () => clearInterval(comments));
  });
  const origin = `http://127.0.0.1:${await listening(t, server)}`;
  const upstream = await upstreamAt(t, origin, "\n    connections: 1");
  for (let at = 0; at < 3; at++) {
    t.equal(await send(upstream, origin, (attempt) => attempt.leave()), "200");
  }
});

t.test("a call does not ask for the age of each busy connection", async (t) => {
  const streams = 50;
  let calls = 0;
  const server = createServer((_request, response: ServerResponse) => {
    calls++;
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: a\n\n");
    if (calls > streams) response.end();
  });
  const origin = `http://127.0.0.1:${await listening(t, server)}`;
  const upstream = await upstreamAt(t, origin);
  for (let at = 0; at < streams; at++) await send(upstream, origin);
  await until("a call finds an idle connection without that", async () => {
    const reads = t.capture(Date, "now", Date.now);
    const call = send(upstream, origin);
    const count = reads().length;
    reads.restore();
    await call;
    return count < streams;
  });
});

t.test("a connection is closed after its greatest age", async (t) => {
  const ports = new Set<number | undefined>();
  const server = createServer((request, response) => {
    ports.add(request.socket.remotePort);
    request.resume().once("end", () => response.end("{}"));
  });
  const origin = `http://127.0.0.1:${await listening(t, server)}`;
  const upstream = await upstreamAt(t, origin, "\n    connection_seconds: 1");
  await until("a new connection was opened", async () => {
    t.equal(await send(upstream, origin), "200");
    return ports.size > 1;
  });
  t.ok(ports.size > 1);
});

t.test("an upstream is reached through a proxy", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket, head) => {
    const { host, "proxy-authorization": user = "nobody" } = request.headers;
    asked.push(`${host} ${Buffer.from(user.slice(6), "base64")}`);
    if (user === "nobody") return socket.end("HTTP/1.1 407 No\r\n\r\n");
    const [, port] = String(request.url).split(":");
    const target = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => socket.destroy());
    socket.on("error", () => target.destroy());
  });
  const proxyPort = await listening(t, proxy);
  const plain = await listening(
    t,
    createServer((_request, response) => response.end("{}")),
  );
  const { key, cert } = await makeCertificate(folder, "DNS:elsewhere.test");
  const tls = createTlsServer({ key, cert }, (_request, response) => response.end("{}"));
  const tlsPort = await listening(t, tls);
  const withUser = `http://us%65r:pass@127.0.0.1:${proxyPort}`;

  const origin = `http://127.0.0.1:${plain}`;
  const own = await upstreamAt(t, origin, `\n    proxy: "${withUser}"`);
  t.equal(await send(own, origin), "200");
  t.strictSame(asked.splice(0), [`127.0.0.1:${plain} user:pass`]);

  const refused = await upstreamAt(t, origin, `\n    proxy: "http://127.0.0.1:${proxyPort}"`);
  t.equal(await send(refused, origin), "connect the proxy replied 407");

  const secure = `https://127.0.0.1:${tlsPort}`;
  const byEnvironment = await upstreamAt(t, secure, "", { HTTPS_PROXY: withUser });
  asked.splice(0);
  t.match(await send(byEnvironment, secure), /^tls [A-Z_]+$/);
  t.strictSame(asked, [`127.0.0.1:${tlsPort} user:pass`]);
});

t.test("NO_PROXY and the setting of an upstream decide which proxy serves", async (t) => {
  const proxy = "http://proxy:3128";
  const at = (url: string, own?: string, noProxy = "") =>
    proxyFor(new URL(url), own, { httpsProxy: proxy, noProxy })?.host;
  t.equal(at("https://api.a.test"), "proxy:3128");
  t.equal(at("http://api.a.test"), undefined);
  t.equal(at("https://api.a.test", "none"), undefined);
  t.equal(at("http://api.a.test", "http://other:1"), "other:1");
  for (const list of ["api.a.test", ".a.test", "*.a.test", "x, a.test:443", "*"]) {
    t.equal(at("https://api.a.test", undefined, list), undefined, list);
  }
  t.equal(at("https://api.a.test", undefined, "b.test,pi.a.test"), "proxy:3128");
});
