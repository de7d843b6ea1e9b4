import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { Attempt } from "../../../core/upstream/attempt.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { accepted } from "../config/files.ts";

const clock = { now: () => 0, monotonic: () => 0 };
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n";
const CHUNK = `a\r\n${"x".repeat(10)}\r\n`;

/** Sends a call to a provider that replies with this text. The attempt pauses at the first of one kind of event. */
async function replying(t: Test, text: string, pauses: string) {
  let provider: Socket | undefined;
  const server = createServer((socket) => {
    provider = socket;
    socket.on("error", () => {});
    socket.once("data", () => socket.write(text));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const upstreams = new ConnectedUpstreams(await accepted(t, {}), clock, recordedLog().log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  assert.ok(upstream);
  const seen: string[] = [];
  const saw = (event: string) => {
    seen.push(event);
    // undici passes an empty part on when it goes on.
    if (event === pauses && seen.indexOf(event) === seen.length - 1) attempt.pause();
  };
  const attempt = new Attempt(upstream, {
    sent: () => {},
    replied: () => saw("replied"),
    received: () => saw("received"),
    completed: () => saw("completed"),
    failed: (error) => saw(`failed: ${"code" in error ? error.code : error}`),
    bug: (error) => assert.fail(String(error)),
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  attempt.send({ protocol: "chat", origin, path: "/", body: "{}", headers: [] }, []);
  await until("it is paused", () => seen.includes(pauses));
  return { attempt, provider, seen };
}

const hasEnded = (seen: readonly string[]) => /completed|failed/.test(seen.at(-1) ?? "");

for (const connection of ["close", "keep-alive"]) {
  t.test(
    `a reset during a paused reply with connection: ${connection} fails it alone`,
    async (t) => {
      const reply = `${HEAD}connection: ${connection}\r\n\r\n${CHUNK.repeat(9)}`;
      const { provider, seen } = await replying(t, reply, "received");
      provider?.resetAndDestroy();
      await until("the attempt ends", () => hasEnded(seen));
      t.strictSame(seen, ["replied", "received", "failed: ECONNRESET"]);
    },
  );
}

/** A reply that pauses: at its head, or with the last of its bytes. */
const ENDS = {
  "at its head": { head: "content-length: 0", body: "", pauses: "replied" },
  "at its last byte": { head: "content-length: 10", body: "x".repeat(10), pauses: "received" },
  "before an end that only the connection has": {
    head: "x: y",
    body: "x".repeat(10),
    pauses: "received",
  },
  "in its middle": { head: "content-length: 100", body: "x".repeat(10), pauses: "received" },
} as const;

for (const [place, { head, body, pauses }] of Object.entries(ENDS)) {
  for (const connection of ["close", "keep-alive"]) {
    t.test(
      `a reply that is paused ${place}, with connection: ${connection}, when its provider ends the connection`,
      async (t) => {
        const reply = `HTTP/1.1 200 OK\r\n${head}\r\nconnection: ${connection}\r\n\r\n${body}`;
        const { attempt, provider, seen } = await replying(t, reply, pauses);
        provider?.end();
        await new Promise((resolve) => setTimeout(resolve, 200));
        attempt.resume();
        await until("the attempt ends", () => hasEnded(seen));
        const isWhole = place !== "in its middle";
        t.match(seen.at(-1), isWhole ? "completed" : /failed/);
      },
    );
  }
}
