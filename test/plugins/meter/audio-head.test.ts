import t from "tap";
import { COMPLETE } from "../../../core/plugin/call.ts";
import { ServerEvent, type Sink } from "../../../core/plugin/index.ts";
import { AudioHead } from "../../../plugins/meter/audio-head.ts";

t.test("the head of audio has its tokens, and no other head of speech", async (t) => {
  const table: [status: number, headers: string[], expected: string[]][] = [
    [200, ["content-type", "audio/mpeg"], ["audio", "head"]],
    [200, [], ["audio", "head"]],
    [200, ["content-type", "application/json"], ["head"]],
    [200, ["content-type", "text/event-stream; charset=utf-8"], ["head"]],
    [400, ["content-type", "audio/mpeg"], ["head"]],
  ];
  for (const [status, headers, expected] of table) {
    const seen: string[] = [];
    const client: Sink = {
      head: (...head) => seen.push(head[0] === status && head[1] === headers ? "head" : "other"),
      event() {},
      data() {},
      end() {},
    };
    new AudioHead(client, () => seen.push("audio")).head(status, headers);
    t.strictSame(seen, expected, `${status} ${headers[1]}`);
  }
});

t.test("everything after the head passes", async (t) => {
  const seen: unknown[] = [];
  const client: Sink = {
    head() {},
    event: (event) => seen.push(event),
    data: (bytes) => seen.push(bytes),
    end: (outcome) => seen.push(outcome),
  };
  const sink = new AudioHead(client, () => t.fail("there is no head"));
  const sent = [new ServerEvent(Buffer.from("data: a\n\n")), Buffer.from("a"), COMPLETE] as const;
  sink.event(sent[0]);
  sink.data(sent[1]);
  sink.end(sent[2]);
  t.strictSame(seen, sent);
});
