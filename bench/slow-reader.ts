import { connect } from "node:net";
import { residentBytes } from "./cpu-time.ts";
import { startGateway } from "./gateway.ts";
import { type Job, requestBytes } from "./load/job.ts";
import { ResponseParser } from "./load/response-parser.ts";
import { printTable } from "./load/table.ts";
import { nodeOptionsOf, type Scenario, writeResults } from "./scenario.ts";
import { startUpstream } from "./targets.ts";
import { messagesCall } from "./workload.ts";

const MEGABYTE = 1_048_576;
const REPLY_BYTES = 200 * MEGABYTE;
/** Bound for the gateway's resident memory at any time. */
const RESIDENT_BYTES_MAX = 150 * MEGABYTE;
const STEP_MS = 20;

export const slowReaders: readonly Scenario[] = [
  slowReader("slow-reader", 20, false),
  // The slowest reader. Takes more than three minutes.
  slowReader("slow-reader-true", 1, true),
];

/**
 * Measures the gateway's memory while a client reads a large stream more slowly than the upstream
 * writes.
 */
function slowReader(name: string, megabytesPerSecond: number, onRequest: boolean): Scenario {
  return {
    name,
    about: `memory while a client reads 200 MB at ${megabytesPerSecond} MB/s`,
    onRequest,
    async run(children, options) {
      const upstream = await startUpstream(children);
      const nodeOptions = nodeOptionsOf(options);
      const gateway = await startGateway(children, { upstreamPort: upstream.port, nodeOptions });
      const { port, headers } = gateway;
      const call = messagesCall({ total_bytes: REPLY_BYTES }, true);
      const job: Job = { port, headers, ...call, connections: 1, seconds: 0 };
      const before = residentBytes(gateway.pid);
      let peak = before;
      const sampler = setInterval(() => {
        peak = Math.max(peak, residentBytes(gateway.pid));
      }, 100);
      const { bytes, seconds } = await readSlowly(job, megabytesPerSecond * MEGABYTE);
      clearInterval(sampler);
      await gateway.reconcile();
      const row = { label: "gateway", megabytesPerSecond, bytes, seconds, before, peak };
      printTable(`${name}: ${this.about}`, [
        {
          "": row.label,
          "MB read": (bytes / MEGABYTE).toFixed(0),
          seconds: seconds.toFixed(1),
          "MB/s": (bytes / MEGABYTE / seconds).toFixed(1),
          "MB before": (before / MEGABYTE).toFixed(0),
          "MB at the peak": (peak / MEGABYTE).toFixed(0),
        },
      ]);
      writeResults(name, children, options, [row]);
      for (const each of [gateway, upstream]) await each.end();
      if (peak > RESIDENT_BYTES_MAX) {
        throw new Error(`the gateway used more than ${RESIDENT_BYTES_MAX / MEGABYTE} MB`);
      }
    },
  };
}

/** Sends one call and reads the whole reply at `bytesPerSecond` or less. */
function readSlowly(job: Job, bytesPerSecond: number): Promise<{ bytes: number; seconds: number }> {
  const parser = new ResponseParser();
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect({ port: job.port, host: "127.0.0.1" });
    let received = 0;
    const isAhead = () => received > ((performance.now() - startedAt) / 1000) * bytesPerSecond;
    const timer = setInterval(() => {
      if (!isAhead()) socket.resume();
    }, STEP_MS);
    const over = (error?: Error) => {
      clearInterval(timer);
      socket.destroy();
      const seconds = (performance.now() - startedAt) / 1000;
      if (error) reject(error);
      else resolve({ bytes: parser.bodyBytes, seconds });
    };
    socket.on("data", (chunk) => {
      received += chunk.length;
      // The kernel's buffers are bounded, so the rest waits in the gateway or upstream of it.
      if (isAhead()) socket.pause();
      const progress = parser.push(chunk);
      if (progress === "more") return;
      const isWhole = parser.status === 200 && parser.tail.includes(job.endsWith);
      over(progress === "whole" && isWhole ? undefined : new Error("the reply is not whole"));
    });
    socket.on("error", over);
    socket.on("close", () => over(new Error("the reply was cut off")));
    socket.write(requestBytes(job));
  });
}
