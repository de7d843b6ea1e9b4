import type { HttpCall } from "../http/http-call.ts";
import type { Server } from "../http/server.ts";
import type { Clock } from "../process/clock.ts";

const POLL_MS = 1000;

/** Resolves once these calls are over, or after the longest time that a call may take. */
export async function whenOver(
  calls: readonly HttpCall[],
  server: Server,
  clock: Clock,
): Promise<void> {
  const deadline = clock.monotonic() + server.runtime.limits.callMs + 10 * POLL_MS;
  while (calls.some((call) => server.callsInFlight.has(call)) && clock.monotonic() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS).unref());
  }
}
