import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate as turnOver } from "node:timers/promises";
import t, { type Test } from "tap";
import type { Plugin } from "../../../core/plugin/plugin.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const ENGINES = hasNativeEngine ? (["native", "node"] as const) : (["node"] as const);
const PATH = "/v1/chat/completions";
const MB = 1_048_576;
const EVENT = `data: {"choices":[{"delta":{"content":"${"a".repeat(900)}"}}]}\n\n`;
const EVENTS = EVENT.repeat(64);
const PART_MS = 30;
/** Generous: the machine may be busy. */
const DRAIN_MS = 240_000;
/** A stream that waits counts at least as much. */
const WAITING_BYTES = 128 * 1024;
const TEXT = "x".repeat(12 * MB);
const WHOLE = JSON.stringify({ choices: [{ message: { content: TEXT } }] });

/** A client that reads nothing until `read` is called, and counts what it reads. */
class SlowClient {
  bytes = 0;
  /** The first part that it read. */
  first = "";
  readonly closed: Promise<unknown>;
  private readonly socket: Socket;

  constructor(port: number, request: Buffer) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("error", () => {});
    this.closed = once(this.socket, "close");
    this.socket.write(request);
  }

  read(): void {
    this.socket.on("data", (part) => {
      this.bytes += part.length;
      this.first ||= part.toString("latin1");
    });
  }

  /** Reads some 2 MB a second. */
  readSlowly(): void {
    this.read();
    this.socket.on("data", () => {
      this.socket.pause();
      setTimeout(() => this.socket.resume(), PART_MS);
    });
  }

  leave(): void {
    this.socket.destroy();
  }
}

/** Sends events for as long as they are read. */
function sendEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = () => {
    while (!response.destroyed && response.write(EVENTS));
  };
  response.on("drain", send);
  send();
}

/** Sends one large event, and after it the end. */
function sendEvent(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`data: {"choices":[{"delta":{"content":"${TEXT}"}}]}\n\ndata: [DONE]\n\n`);
}

const counts = new Map<string, number>();
/** Set to have the plugin pause the stream at its next event; it then says so. */
let pausing: "no" | "soon" | "paused" = "no";
let resume = () => {};

const counting: Plugin = {
  name: "counting",
  stream: (call, client) => ({
    head: (status, headers) => client.head(status, headers),
    event(event) {
      counts.set(call.id, (counts.get(call.id) ?? 0) + 1);
      client.event(event);
      if (pausing !== "soon") return;
      pausing = "paused";
      resume = () => call.flow?.resume();
      call.flow?.pause();
    },
    data: (bytes) => client.data(bytes),
    end: (outcome) => client.end(outcome),
  }),
};
const eventsSeen = () => [...counts.values()].reduce((sum, count) => sum + count, 0);

for (const engine of ENGINES) {
  t.test(`clients that do not read, on ${engine}`, async (t) => {
    const server = await startServer(
      [counting],
      (request, response) => {
        request.resume();
        if (request.headers["x-run"] === "stream") return sendEvents(response);
        if (request.headers["x-run"] === "event") return sendEvent(response);
        response.writeHead(200, { "content-type": "application/json" }).end(WHOLE);
      },
      undefined,
      engine,
    );
    t.teardown(() => server.close());

    /** Asks, and reads nothing. */
    function asks(t: Test, run: "stream" | "event" | "whole"): SlowClient {
      const messages = [{ role: "user", content: "x" }];
      const body = JSON.stringify({ model: "m", messages, stream: run !== "whole" });
      const client = new SlowClient(server.port, rawPost(PATH, "key", body, { "x-run": run }));
      t.teardown(() => client.leave());
      return client;
    }

    async function nothingIsLeft(): Promise<void> {
      await until("all calls are over", () => server.server.callsInFlight.size === 0);
      await until("nothing waits", () => server.unread.bytes === 0);
    }

    t.test(
      "take no more memory than limits.unread_mb: the one that waits longest is cut",
      async (t) => {
        // On a busy machine a few wait at the same time: the engine cuts each after 10 s.
        server.unread.bytesMax = 2 * WAITING_BYTES;
        const before = server.ended.length;
        const clients = [];
        for (let n = 0; n < 10; n++) clients.push(asks(t, "stream"));
        await until("some are cut", () => server.unread.cut >= 3 && server.ended.length > before);
        t.ok(server.unread.bytes <= 2 * WAITING_BYTES);
        t.ok(server.unread.cut < clients.length, "the others wait on");
        t.same(
          new Set(server.ended.slice(before).map(({ outcome }) => outcome)),
          new Set(["gone"]),
        );
        for (const client of clients) client.leave();
        await nothingIsLeft();
      },
    );

    t.test("get more of a stream once they read on", async (t) => {
      server.unread.bytesMax = 100 * MB;
      const client = asks(t, "stream");
      await until("it waits", () => server.unread.bytes > 0);
      client.read();
      await until("more has come than any buffer holds", () => client.bytes > 40 * MB);
      client.leave();
      await nothingIsLeft();
    });

    t.test("do not let a stream go on that a plugin has paused", async (t) => {
      server.unread.bytesMax = 100 * MB;
      const client = asks(t, "stream");
      await until("it waits", () => server.unread.bytes > 0);
      pausing = "soon";
      client.read();
      await until("the plugin has paused it", () => pausing === "paused");
      await until("the client has read all", () => server.unread.bytes === 0);
      const events = eventsSeen();
      for (let turn = 0; turn < 20; turn++) await turnOver();
      t.equal(eventsSeen(), events);
      resume();
      await until("it goes on", () => eventsSeen() > events);
      pausing = "no";
      client.leave();
      await nothingIsLeft();
    });

    t.test("are cut in a whole reply too, after its charge", async (t) => {
      server.unread.bytesMax = 20 * MB;
      const { cut } = server.unread;
      const first = asks(t, "whole");
      await until("the first waits", () => server.unread.bytes >= TEXT.length);
      const second = asks(t, "whole");
      await until("the first is cut", () => server.unread.cut === cut + 1);
      t.ok(server.unread.bytes <= 20 * MB);
      first.read();
      await first.closed;
      t.ok(first.bytes < WHOLE.length);
      second.read();
      await until("the second has all of it", () => second.bytes > WHOLE.length);
      await nothingIsLeft();
    });

    t.test("get 503 if no room is left for a whole reply, or for a large event", async (t) => {
      server.unread.bytesMax = MB;
      for (const run of ["whole", "event"] as const) {
        const client = asks(t, run);
        client.read();
        await until("it has its reply", () => client.bytes > 0);
        t.match(client.first, /^HTTP\/1.1 503 [\s\S]*keeps as many replies as it can/, run);
        await nothingIsLeft();
      }
    });

    t.test("get a large event for which there is room", async (t) => {
      server.unread.bytesMax = 40 * MB;
      for (const isSlow of [false, true]) {
        const client = asks(t, "event");
        // The kernel holds the rest.
        if (isSlow) await until("it waits", () => server.unread.bytes >= MB);
        client.read();
        await until("it has all of it", () => client.bytes > TEXT.length);
        await nothingIsLeft();
      }
    });

    t.test("get all of a whole reply from a gateway that stops", async (t) => {
      server.unread.bytesMax = 100 * MB;
      const client = asks(t, "whole");
      await until("it waits", () => server.unread.bytes >= TEXT.length);
      await until("its call is over", () => server.server.callsInFlight.size === 0);
      client.readSlowly();
      await server.server.drain({ drainMs: DRAIN_MS, handoverMs: 0 });
      server.server.close();
      await client.closed;
      t.ok(client.bytes > WHOLE.length, `${client.bytes} bytes`);
    });
  });
}
