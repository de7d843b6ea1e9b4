import t from "tap";
import { decoderByType } from "../../../core/upstream/upstream-reply.ts";

t.test("a reply of an upstream whose kind does not say otherwise", async (t) => {
  for (const [status, type, decoder, streamed = decoder] of [
    [200, "text/event-stream; charset=utf-8", "events"],
    [200, "application/json", "json"],
    [200, "audio/mpeg", "bytes"],
    [200, undefined, "json", "events"],
    [400, "application/problem+json", "json"],
    [400, undefined, "json"],
    // Alibaba refuses a streamed call so.
    [400, "text/event-stream", "json"],
    [404, "text/html", "bytes"],
  ] as const) {
    t.test(`with ${status} and ${type ?? "no content type"} is read as ${decoder}`, async (t) => {
      t.equal(decoderByType(status, type, false), decoder);
      t.equal(decoderByType(status, type, true), streamed);
    });
  }
});
