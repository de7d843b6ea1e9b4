import type { ServerResponse } from "node:http";
import t from "tap";
import { ServerEvent, SseReader } from "../../../core/sse/reader.ts";
import { EmptyEvents } from "../../../core/upstream/empty-events.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const CONTENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const STREAMED = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user" }] });

const event = (text: string) => new ServerEvent(Buffer.from(text));

/** How often `text` passes in `times`, of which `perSecond` come in a second. */
function passed(text: string, times: number, perSecond: number): number {
  const events = new EmptyEvents();
  let count = 0;
  for (let at = 0; at < times; at += 1) {
    if (events.judge(event(text), 5_000 + (at * 1_000) / perSecond) === "pass") count += 1;
  }
  return count;
}

t.test("empty events", async (t) => {
  t.test("pass one a second once a hundred have come in a row", async (t) => {
    const empty = [
      ...[":\n\n", ": keep-alive\n\n", "data:\n\n", "data: \n\n", "data\n\n", "\n"],
      ...["data:\ndata: \n\n", "event: message\n\n", `: ${"long ".repeat(20)}\n\n`, "id: 1\n\n"],
      'event: ping\ndata: {"type":"ping"}\n\n',
    ];
    for (const text of empty) t.equal(passed(text, 1_100, 100), 110, JSON.stringify(text));
    t.equal(passed(":\n\n", 1_100, 1), 1_100, "slow ones all pass");
  });

  t.test("are no others, however short", async (t) => {
    const others = [
      ...["data: a\n\n", "data:{}\n\n", "data: [DONE]\n\n", CONTENT, `: comment\n${CONTENT}`],
      ...["data:\ndata: a\n\n", 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
    ];
    for (const text of others) t.equal(passed(text, 1_100, 100), 1_100, JSON.stringify(text));
  });

  t.test("pass all if something comes between them", async (t) => {
    const events = new EmptyEvents();
    for (let at = 0; at < 1_000; at += 1) {
      if (at % 50 === 0) events.judge(event(CONTENT), 0);
      t.equal(events.judge(event(":\n\n"), 0), "pass");
    }
  });
});

t.test("an upstream's stream of empty events", async (t) => {
  let behave: (response: ServerResponse) => unknown;
  const server = await startServer([], (request, response) => {
    request.resume();
    request.once("end", () => {
      behave(response.writeHead(200, { "content-type": "text/event-stream" }));
    });
  });
  t.teardown(() => server.close());

  async function stream(next: typeof behave) {
    behave = next;
    const count = server.ended.length + 1;
    const client = await RawClient.open(server.port);
    await client.send(rawPost("/v1/chat/completions", "key", STREAMED));
    const answer = await client.response();
    client.destroy();
    await until("it is reported", () => server.ended.length === count);
    const events: ServerEvent[] = [];
    const reader = new SseReader();
    reader.push(Buffer.from(String(answer.body)), (one) => events.push(one));
    return { events, ended: server.ended.at(-1) };
  }

  t.test("does not reach the client, but for a few", async (t) => {
    const { events, ended } = await stream((response) =>
      response.end(`${CONTENT}${"data:\n\n".repeat(90_000)}${CONTENT}data: [DONE]\n\n`),
    );
    t.match(ended, { status: 200, outcome: "complete" });
    t.ok(events.length >= 103 && events.length < 1_000, String(events.length));
  });

  t.test("ends the call if it goes on for too long", async (t) => {
    const { events, ended } = await stream((response) =>
      response.write(CONTENT + ":\n\n".repeat(200_000)),
    );
    t.match(ended, { outcome: "broken", failedAttempts: [{ cause: "unreadable" }] });
    t.match(events.at(-1)?.data, /nothing but empty events/);
  });
});
