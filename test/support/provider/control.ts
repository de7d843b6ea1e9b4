import type { Listener } from "../../../core/listener/index.ts";
import { createdAt } from "./answer.ts";
import { isProblem, readJson } from "./ask.ts";
import { LiveCall } from "./live-call.ts";
import { messages } from "./messages.ts";
import { readBody } from "./read-request.ts";
import type { Releases } from "./releases.ts";
import { type Failures, Tally } from "./tally.ts";

/** Usage of control calls, which are not tallied. */
const noUsage = { input: 0, cacheRead: 0, cacheWrite: 0, image: 0, output: 0, reasoning: 0 };
const json = ["content-type", "application/json"];

/**
 * Routes beside model calls:
 *   GET  /healthz      `ok`
 *   GET  /v1/models    the model names that are directives
 *   POST /v1/messages/count_tokens
 *   GET  /_sim/stats   a tally per endpoint, see `Tally`
 *   POST /_sim/reset   resets tallies, failure keys and released names
 *   POST /_sim/release?name=NAME  ends the waits of calls with this `until`
 */
export function serveControl(
  listener: Listener,
  tallies: Readonly<Record<string, Tally>>,
  failures: Failures,
  releases: Releases,
): void {
  listener.get("/healthz", (res) => {
    res.end("ok\n");
  });
  listener.get("/v1/models", (res) => {
    res.writeHeader("content-type", "application/json").end(modelList);
  });
  listener.post("/v1/messages/count_tokens", (res) => {
    const call = new LiveCall(res, new Tally(), releases);
    readBody(res, call, (body) => call.whole("200 OK", json, countTokens(body), noUsage));
  });
  listener.get("/_sim/stats", (res) => {
    res.writeHeader("content-type", "application/json").end(JSON.stringify(tallies));
  });
  listener.post("/_sim/reset", (res) => {
    failures.clear();
    releases.clear();
    for (const tally of Object.values(tallies)) tally.reset();
    res.end("ok\n");
  });
  listener.post("/_sim/release", (res, req) => {
    releases.release(new URLSearchParams(req.getQuery() ?? "").get("name") ?? "");
    res.end("ok\n");
  });
  listener.any("/*", (res, req) => {
    const message = `Unknown request URL: ${req.getCaseSensitiveMethod()} ${req.getUrl()}.`;
    const error = { message, type: "invalid_request_error", param: null, code: "unknown_url" };
    res.writeStatus("404 Not Found").writeHeader("content-type", "application/json");
    res.end(JSON.stringify({ error }));
  });
}

const modelList = JSON.stringify({
  object: "list",
  data: ["sim-echo", "sim-hang", "sim-status-429", "sim-tokens-100"].map((id) => ({
    id,
    object: "model",
    created: createdAt,
    owned_by: "simulator",
  })),
});

/** An invalid body has 0 tokens. */
function countTokens(bytes: Buffer): Buffer {
  const ask = messages.read({ ...readJson(bytes), max_tokens: 1 });
  return Buffer.from(JSON.stringify({ input_tokens: isProblem(ask) ? 0 : ask.inputTokens }));
}
