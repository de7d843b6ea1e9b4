import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type HttpResponse, openListener } from "../../../core/listener/index.ts";
import { RawClient } from "../../support/raw-client.ts";
import { until } from "../../support/until.ts";

/** More than a minute, after which a reply that is not read is cut; socket timers may count in steps of some seconds. */
const SILENCE_MS = 66_000;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`;

/** The native engine cuts such a connection. */
t.test("a request behind another, on node", { jobs: 2 }, async (t) => {
  const listener = await openListener({ engine: "node", headerBytesMax: 16_384 });
  t.teardown(() => listener.close());
  const waiting = new Map<string, HttpResponse>();
  const left: string[] = [];
  listener.any("/*", (response, request) => {
    const path = request.getUrl();
    waiting.set(path, response);
    response.onAborted(() => left.push(path));
    response.onData(() => {});
  });
  const port = await listener.listen("127.0.0.1", 0);

  t.test("hears that its client has left", async (t) => {
    const client = await RawClient.open(port);
    await client.send(get("/first") + get("/second") + get("/third"));
    await until("all are taken", () => waiting.has("/third"));
    client.destroy();
    await until("all are left", () => left.length === 3);
    t.strictSame(left.sort(), ["/first", "/second", "/third"]);
  });

  t.test("may be silent for more than a minute once the other is served", async (t) => {
    const client = await RawClient.open(port);
    await client.send(get("/served") + get("/silent"));
    await until("both are taken", () => waiting.has("/silent"));
    waiting.get("/served")?.end("one");
    t.equal((await client.response()).body.toString(), "one");
    await delay(SILENCE_MS);
    t.equal(client.ended, false);
    waiting.get("/silent")?.end("two");
    t.equal((await client.response()).body.toString(), "two");
    // And is idle then.
    await client.closed;
  });
});
