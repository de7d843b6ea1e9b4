import t from "tap";
import { decoderByType, refusalByStatus } from "../../../core/upstream/replies.ts";

t.test("a reply of an upstream whose kind does not say otherwise", async (t) => {
  for (const [meaning, statuses] of [
    ["account", [401, 402, 403]],
    ["elsewhere", [408, 429]],
    ["caller", [400, 404, 409, 413, 422, 451]],
    ["failed", [300, 301, 304, 307, 500, 502, 503, 529]],
  ] as const) {
    t.test(`with ${statuses.join(", ")} is taken as ${meaning}`, async (t) => {
      for (const status of statuses) t.equal(refusalByStatus(status), meaning, `${status}`);
    });
  }

  for (const [status, type, decoder] of [
    [200, "text/event-stream; charset=utf-8", "events"],
    [200, "application/json", "json"],
    [200, "audio/mpeg", "bytes"],
    [200, undefined, "json"],
    [400, "application/problem+json", "json"],
    [400, undefined, "json"],
    [400, "text/event-stream", "bytes"],
    [404, "text/html", "bytes"],
  ] as const) {
    t.test(`with ${status} and ${type ?? "no content type"} is read as ${decoder}`, async (t) => {
      t.equal(decoderByType(status, type), decoder);
    });
  }
});
