import { Agent, request } from "node:http";
import { bodyOf } from "../support/ask.ts";

/** The observations of the honest client. */
export interface HonestReport {
  readonly calls: number;
  /** Failed calls by status, or by the error of the connection. */
  readonly errors: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The longest reply of `/healthz`, which waits for nothing but the process. */
  readonly stallMs: number;
}

const CALL_EVERY_MS = 50;
const PROBE_EVERY_MS = 25;
const PATIENCE_MS = 60_000;
const PATH = "/v1/chat/completions";

/**
 * The honest client, in a process of its own so that the attacker does not slow it down: 20 small calls a second, and
 * probes of `/healthz`. Prints `ready` after a first call, so that its key and its wallet are known to the gateway, and
 * its report once its input ends.
 */
const [, , url = "", key = ""] = process.argv;
// Shorter than the gateway's idle timeout, so that no call is sent on a connection that is being closed.
const agent = new Agent({ keepAlive: true, timeout: 5_000 });
const body = bodyOf(PATH, { output_tokens: 5 });
const headers = { "x-api-key": key, "content-type": "application/json" };

const times: number[] = [];
const errors: Record<string, number> = {};
const running = new Set<Promise<void>>();
let stallMs = 0;
let isProbing = false;

function ask(method: string, path: string, sent?: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = request(url + path, { method, agent, headers, timeout: PATIENCE_MS }, (reply) => {
      reply.resume();
      reply.once("end", () => resolve(String(reply.statusCode)));
      reply.once("error", (error) => resolve(error.message));
    });
    asked.once("timeout", () => asked.destroy(new Error("no reply")));
    asked.once("error", (error) => resolve(error.message));
    asked.end(sent);
  });
}

async function call(): Promise<void> {
  const startedMs = performance.now();
  const status = await ask("POST", PATH, body);
  times.push(performance.now() - startedMs);
  if (status !== "200") errors[status] = (errors[status] ?? 0) + 1;
}

async function probe(): Promise<void> {
  if (isProbing) return;
  isProbing = true;
  const startedMs = performance.now();
  await ask("GET", "/healthz");
  stallMs = Math.max(stallMs, performance.now() - startedMs);
  isProbing = false;
}

function track(work: Promise<void>): void {
  running.add(work);
  void work.finally(() => running.delete(work));
}

while ((await ask("POST", PATH, body)) !== "200");
process.stdout.write("ready\n");

const timers = [
  setInterval(() => track(call()), CALL_EVERY_MS),
  setInterval(() => track(probe()), PROBE_EVERY_MS),
];

process.stdin.resume();
process.stdin.once("end", async () => {
  for (const timer of timers) clearInterval(timer);
  await Promise.all(running);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  const report: HonestReport = {
    calls: times.length,
    errors,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    stallMs,
  };
  process.stdout.write(JSON.stringify(report), () => process.exit(0));
});
