import type { RequestListener } from "node:http";
import t, { type Test } from "tap";
import type { Job } from "../../bench/load/job.ts";
import { closedLoop, holdOpen, openLoop } from "../../bench/load/loops.ts";
import { ResponseParser } from "../../bench/load/response-parser.ts";
import { dueTimes } from "../../bench/load/schedule.ts";
import { chatCall, messagesCall, STREAM_DELTAS } from "../../bench/workload.ts";
import { freePort } from "../support/free-port.ts";
import { startLocalServer } from "../support/local-server.ts";
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

t.test("events are counted also with other line ends, comments are not", async (t) => {
  const body = 'event: ping\r\ndata: {}\r\n\r\n: a comment\r\n\r\ndata: {"error":{}}\r\n\r\n';
  for (let split = 0; split < body.length; split++) {
    const parser = new ResponseParser();
    parser.push(Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${body.slice(0, split)}`));
    parser.push(Buffer.from(body.slice(split)));
    t.equal(parser.events, 2);
    t.equal(parser.lastEvent.trim(), 'data: {"error":{}}');
    t.equal(parser.errorEvent, parser.lastEvent);
    t.ok(parser.endsWithConnection, "a body without length");
  }
});

t.test("a reply may follow interim ones, and need not have a body", async (t) => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\n";
  t.equal(new ResponseParser().push(Buffer.from(interim)), "more");
  t.equal(new ResponseParser().push(Buffer.from(`${interim}${WHOLE}`)), "whole");
  t.equal(new ResponseParser().push(Buffer.from("HTTP/1.1 204 None\r\n\r\n")), "whole");
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
    [{ error_after_events: 3 }, true, /reports an error/],
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

t.test("a schedule goes from rate to rate", async (t) => {
  const ramp = dueTimes([
    { from: 0, to: 100, seconds: 2 },
    { from: 50, to: 50, seconds: 1 },
  ]);
  t.equal(ramp.calls, 150);
  t.strictSame([0, 25, 100, 149].map(ramp.dueAtMs), [0, 1_000, 2_000, 2_980]);
  t.equal(ramp.dueAtMs(25), 1_000, "also backwards");
});

t.test("a server that stalls shows in the times of all calls that were due", async (t) => {
  let asked = 0;
  const port = await listen(t, (_, response) => {
    setTimeout(() => response.end("{}"), asked++ === 0 ? 1_000 : 0);
  });
  const only = job(chatCall({}, false), { port, connections: 1, seconds: 1 });
  const report = await openLoop({ ...only, rate: 100 });
  t.equal(report.calls, 100);
  t.equal(report.errors, 0);
  t.ok(report.latencyUs.max >= 990_000, `${report.latencyUs.max} µs`);
  t.ok(report.latencyUs.p50 >= 450_000, `${report.latencyUs.p50} µs`);
});

t.test("calls without a reply in time fail, and so do those without a connection", async (t) => {
  const port = await listen(t, () => {});
  const silent = job(chatCall({}, false), { port, connections: 1, timeoutSeconds: 0.2 });
  const { calls, failures } = await openLoop({ ...silent, rate: 100 });
  t.equal(calls, 0);
  t.equal(
    failures.reduce((sum, { count }) => sum + count, 0),
    10,
  );
  const kinds = failures.map(({ kind }) => kind).sort();
  t.strictSame(kinds, ["no connection was free within 0.2 s", "no whole reply within 0.2 s"]);
});

t.test("a port without a server fails each call, with pauses", async (t) => {
  const { port } = simulator;
  const refused = await closedLoop(
    job(chatCall({}, false), { port: await freePort(), connections: 2, seconds: 0.1 }),
  );
  t.not(refused.errors, 0);
  t.ok(refused.errors <= 22, `${refused.errors} calls`);
  t.match(refused.failures, [{ kind: /ECONNREFUSED/, count: refused.errors }]);
  const both = job(chatCall({ status: 429 }, false), { port, seconds: 0 });
  t.match((await closedLoop(both)).failures, [{ kind: "HTTP 429", count: 4, body: /^{.*error/ }]);
});

t.test("a stream has a first token and gaps, a whole reply has none", async (t) => {
  const call = chatCall({ output_tokens: 8, deltas: 8, delay_ms: 30, event_delay_ms: 10 }, true);
  const stream = await closedLoop(job(call, { connections: 1, seconds: 0 }));
  t.ok((stream.firstTokenUs?.p50 ?? 0) >= 25_000);
  t.ok((stream.gapUs?.p50 ?? 0) >= 5_000);
  t.ok(stream.latencyUs.p50 >= (stream.firstTokenUs?.p50 ?? 0));
  const whole = await closedLoop(job(chatCall({}, false), { connections: 1, seconds: 0 }));
  t.equal(whole.firstTokenUs, undefined);
  t.equal(whole.gapUs, undefined);
  t.match(whole.timeline.at(-1), { calls: 1, errors: 0 });
});

t.test("the costs that replies state are added up", async (t) => {
  const port = await listen(t, (_, response) => {
    response.setHeader("x-svc-cost-vnd", "10.76328").end("{}");
  });
  const report = await closedLoop(job(chatCall({}, false), { port, connections: 3, seconds: 0 }));
  t.strictSame(report.costs, { calls: 3, micro: "32289840" });
});

t.test("streams stay open until they are released", async (t) => {
  const silent = chatCall({ output_tokens: 10, silent_ms: 60_000 }, true);
  const { report, release } = await holdOpen(job(silent, { seconds: 5 }));
  release();
  t.equal(report.calls, 4);
  t.equal(report.errors, 0);
});

/** Starts a server until the test ends. Returns its port. */
async function listen(t: Test, reply: RequestListener): Promise<number> {
  const server = await startLocalServer(reply);
  t.teardown(() => server.stop());
  return server.port;
}
