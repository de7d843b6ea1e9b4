import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { atEndOfTurn } from "../../../core/process/turn.ts";
import { Attempt, type AttemptListener } from "../../../core/upstream/attempt.ts";
import { ConnectedUpstreams } from "../../../core/upstream/upstreams.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { accepted } from "../config/files.ts";

const clock = { now: () => 0, monotonic: () => 0 };
const RESET = Object.assign(new Error("reset"), { code: "ECONNRESET" });
const TEXT = "x".repeat(1_000_000);
const PACKED = gzipSync(TEXT);

/** A connection of undici, as an attempt sees it. */
class Controller {
  paused = false;
  aborted = false;
  rawHeaders = null;
  rawTrailers = null;
  reason = null;
  pause() {
    this.paused = true;
  }
  resume() {
    this.paused = false;
  }
  abort() {
    this.aborted = true;
  }
}

/** An attempt and what it reports: the bytes and, once there is one, its end. */
async function setUp(t: Test) {
  const config = await accepted(t, {});
  const upstreams = new ConnectedUpstreams(config, clock, recordedLog().log);
  t.teardown(() => upstreams.close());
  const upstream = upstreams.get("main");
  assert.ok(upstream);
  const parts: Buffer[] = [];
  const ends: string[] = [];
  const listener: AttemptListener = {
    sent: () => {},
    replied: () => {},
    received: (chunk) => void parts.push(chunk),
    completed: () => void ends.push("completed"),
    failed: (error) => void ends.push(`failed: ${"code" in error ? error.code : error}`),
    bug: (error) => assert.fail(String(error)),
  };
  const attempt = new Attempt(upstream, listener);
  const text = () => Buffer.concat(parts).toString();
  const ended = () => until("the attempt ends", () => ends.length > 0);
  return { attempt, ends, text, ended };
}

/** An attempt whose reply is said to be compressed with gzip. */
async function compressed(t: Test) {
  const made = await setUp(t);
  const controller = new Controller();
  made.attempt.onRequestStart(controller);
  made.attempt.onResponseStart(controller, 200, { "content-encoding": "gzip" });
  return { ...made, controller };
}

t.test("a reply that is not compressed as it says", async (t) => {
  t.test("fails and leaves no paused connection behind", async (t) => {
    const { attempt, controller, ends, ended } = await compressed(t);
    // More than the decompressor takes at once, so that the attempt pauses the connection.
    attempt.onResponseData(controller, Buffer.from(TEXT));
    t.equal(controller.paused, true);
    await ended();
    t.strictSame(ends, ["failed: Z_DATA_ERROR"]);
    t.equal(controller.aborted, true);
  });

  t.test("closes its connection at the upstream, which still sends", async (t) => {
    let closed = false;
    const server = createServer((request, response) => {
      request.resume();
      response.on("close", () => {
        closed = true;
      });
      response.writeHead(200, { "content-encoding": "gzip" }).write(Buffer.alloc(1_000_000, 120));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close().closeAllConnections());
    const { attempt, ended } = await setUp(t);
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const request = { protocol: "chat", origin, path: "/", body: "{}", headers: [] } as const;
    attempt.send(request, []);
    await ended();
    await until("the connection is closed", () => closed);
    t.ok(closed);
  });
});

t.test("a connection that is reset after a whole compressed body", async (t) => {
  t.test("completes the reply once all of it is decompressed", async (t) => {
    const { attempt, controller, ends, text, ended } = await compressed(t);
    attempt.onResponseData(controller, PACKED);
    attempt.onResponseError(controller, RESET);
    t.strictSame(ends, []);
    await ended();
    t.strictSame(ends, ["completed"]);
    t.equal(text().length, TEXT.length);
  });

  t.test("waits for a client that does not read", async (t) => {
    const { attempt, controller, ends, text, ended } = await compressed(t);
    attempt.onResponseData(controller, PACKED);
    attempt.pause();
    attempt.onResponseError(controller, RESET);
    attempt.resume();
    await ended();
    t.strictSame(ends, ["completed"]);
    t.equal(text().length, TEXT.length);
  });
});

t.test("a connection that is reset in a compressed body", async (t) => {
  t.test("passes on what came, and fails as the connection did", async (t) => {
    const { attempt, controller, ends, text, ended } = await compressed(t);
    attempt.onResponseData(controller, PACKED.subarray(0, -20));
    attempt.onResponseError(controller, RESET);
    await ended();
    t.strictSame(ends, ["failed: ECONNRESET"]);
    t.match(text(), /^x+$/);
  });

  t.test("fails at once if nothing of it came", async (t) => {
    const { attempt, controller, ends } = await compressed(t);
    attempt.onResponseError(controller, RESET);
    t.strictSame(ends, ["failed: ECONNRESET"]);
  });
});

t.test("a compressed body that goes on after its end does not keep its connection", async (t) => {
  const { attempt, controller, ends, text, ended } = await compressed(t);
  attempt.onResponseData(controller, Buffer.concat([PACKED, Buffer.alloc(100_000)]));
  await ended();
  t.strictSame(ends, ["completed"]);
  t.equal(text().length, TEXT.length);
  t.equal(controller.aborted, true);
});

t.test("a reply that comes faster than its client can be written to", async (t) => {
  const LARGE = Buffer.alloc(64 * 1024);

  async function begun(t: Test) {
    const controller = new Controller();
    const { attempt } = await setUp(t);
    attempt.onRequestStart(controller);
    attempt.onResponseStart(controller, 200, {});
    return { attempt, controller };
  }

  t.test("is read no further in this turn, and on in the next", async (t) => {
    const { attempt, controller } = await begun(t);
    attempt.onResponseData(controller, LARGE.subarray(1));
    t.equal(controller.paused, false);
    attempt.onResponseData(controller, LARGE.subarray(-1));
    t.equal(controller.paused, true);
    attempt.pause();
    attempt.resume();
    t.equal(controller.paused, true, "the client has caught up, but the turn goes on");
    await until("the turn is over", () => !controller.paused);
  });

  t.test("stays paused after the turn if its client has not caught up", async (t) => {
    const { attempt, controller } = await begun(t);
    attempt.onResponseData(controller, LARGE);
    attempt.pause();
    await new Promise((resolve) => atEndOfTurn("ended", () => resolve(undefined)));
    t.equal(controller.paused, true);
    attempt.resume();
    t.equal(controller.paused, true, "undici may be reading another reply right now");
    await until("the turn is over", () => !controller.paused);
  });

  t.test("rests at its head if others have brought enough for this turn", async (t) => {
    const others = await Promise.all(Array.from({ length: 8 }, () => begun(t)));
    const { attempt } = await setUp(t);
    await new Promise((resolve) => atEndOfTurn("ended", () => setImmediate(resolve)));
    for (const { attempt, controller } of others) attempt.onResponseData(controller, LARGE);
    const controller = new Controller();
    attempt.onRequestStart(controller);
    attempt.onResponseStart(controller, 200, {});
    t.equal(controller.paused, true);
    await until("the turn is over", () => !controller.paused);
  });
});
