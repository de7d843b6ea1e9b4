import t from "tap";
import type { Job } from "../../bench/load/job.ts";
import { closedLoop, holdOpen, openLoop } from "../../bench/load/loops.ts";
import { ResponseParser } from "../../bench/load/response-parser.ts";
import { chatCall, messagesCall, STREAM_DELTAS } from "../../bench/workload.ts";
import { type Simulator, startSimulator } from "../support/provider/server.ts";

const STREAM =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "b\r\ndata: {}\n\nd\r\n5\r\nata: \r\n8\r\n[DONE]\n\n\r\n0\r\n\r\n";
const WHOLE = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}';

let simulator: Simulator;

t.before(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
});

t.teardown(() => simulator.close());

function job(call: ReturnType<typeof chatCall>, more: Partial<Job> = {}): Job {
  return { port: simulator.port, headers: {}, connections: 4, seconds: 0.1, ...call, ...more };
}

t.test("a reply parses the same, split at any byte", async (t) => {
  for (const [text, events, tail] of [
    [STREAM, 2, "data: [DONE]\n\n"],
    [WHOLE, 0, '{"a":1}'],
  ] as const) {
    const bytes = Buffer.from(text);
    for (let split = 0; split < bytes.length; split++) {
      const parser = new ResponseParser();
      t.equal(parser.push(bytes.subarray(0, split)), "more");
      t.equal(parser.push(bytes.subarray(split)), "whole");
      t.equal(parser.status, 200);
      t.equal(parser.events, events);
      t.ok(parser.tail.toString().endsWith(tail));
    }
  }
});

t.test("bytes after a complete reply are malformed", async (t) => {
  t.equal(new ResponseParser().push(Buffer.from(`${WHOLE}x`)), "malformed");
  t.equal(new ResponseParser().push(Buffer.from(`${STREAM}x`)), "malformed");
  t.equal(new ResponseParser().push(Buffer.from("nonsense\r\n\r\n")), "malformed");
});

t.test("a closed loop counts the calls that got a reply", async (t) => {
  const report = await closedLoop(job(chatCall({ output_tokens: 10 }, false)));
  t.ok(report.calls >= 4);
  t.equal(report.errors, 0);
});

t.test("every event of a stream is counted, in both protocols", async (t) => {
  const directive = { output_tokens: STREAM_DELTAS, deltas: STREAM_DELTAS };
  for (const call of [chatCall(directive, true), messagesCall(directive, true)]) {
    const report = await closedLoop(job(call, { connections: 1, seconds: 0 }));
    t.equal(report.calls, 1);
    t.ok(report.events >= STREAM_DELTAS && report.events < STREAM_DELTAS + 10);
  }
});

t.test("failed and incomplete replies are errors", async (t) => {
  for (const [directive, stream, expected] of [
    [{ status: 503 }, false, /^HTTP 503/],
    [{ cut_after_events: 3 }, true, /closed/],
    [{ end_after_events: 3 }, true, /does not end/],
  ] as const) {
    const report = await closedLoop(
      job(chatCall(directive, stream), { connections: 1, seconds: 0 }),
    );
    t.equal(report.calls, 0);
    t.equal(report.errors, 1);
    t.match(report.firstError ?? "", expected);
  }
});

t.test("an open loop sends calls at the given rate", async (t) => {
  const call = job(chatCall({ output_tokens: 10 }, false), { connections: 100, seconds: 0.2 });
  const report = await openLoop({ ...call, rate: 200 });
  t.equal(report.calls + report.errors, 40);
});

t.test("streams stay open until they are released", async (t) => {
  const silent = chatCall({ output_tokens: 10, silent_ms: 60_000 }, true);
  const { report, release } = await holdOpen(job(silent, { seconds: 5 }));
  release();
  t.equal(report.calls, 4);
  t.equal(report.errors, 0);
});
