import t from "tap";
import { type LatencyRuns, latencyCells, latencyRows } from "../../bench/latency.ts";
import { closedLoop } from "../../bench/load/loops.ts";
import { barOf } from "../../bench/progress.ts";
import type { Target } from "../../bench/targets.ts";
import { chatCall } from "../../bench/workload.ts";
import { startLocalServer } from "../support/local-server.ts";

t.test("a bar shows the share and the time left", async (t) => {
  t.equal(barOf(0, 125, "calls"), `[${"-".repeat(24)}]   0 %  2:05 left  calls`);
  t.equal(
    barOf(0.5, 4, "streams"),
    `[${"#".repeat(12)}${"-".repeat(12)}]  50 %  0:04 left  streams`,
  );
  t.match(barOf(1.2, -3, ""), `[${"#".repeat(24)}] 100 %  0:00 left`);
});

t.test("ratios are of the same round, and a row with failures is void", async (t) => {
  const server = await startLocalServer((_, response) => response.end("{}"));
  t.teardown(() => server.stop());
  const { port } = server;
  const job = { port, headers: {}, ...chatCall({}, false), connections: 1, seconds: 0 };
  const { latencyUs, ...rest } = await closedLoop(job);
  const runOf = (name: string, p99s: readonly number[], errors = 0): LatencyRuns => {
    const target: Target = { name, port, pid: 0, headers: {}, end: async () => {} };
    const times = p99s.map((p99) => ({ ...latencyUs, p50: p99, p90: p99, p99 }));
    const reports = times.map((each) => ({ ...rest, calls: 999, errors, latencyUs: each }));
    return { target, reports, spans: [] };
  };
  const bare = runOf("bare proxy", [1_000, 5_000, 2_000]);
  const runs = [bare, runOf("gateway", [3_000, 5_000, 4_000]), runOf("broken", [1, 1, 1], 2)];
  const [, gateway, broken] = latencyRows(runs, bare.target, 500).map(latencyCells);
  t.match(gateway, { p99: "4.00", "p99 / bare": "2.00", failed: "0" });
  t.match(broken, { p99: "void", "p99 / bare": "void", failed: "6 of 3003" });
});
