import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type Customer, createCustomer } from "../support/admin.ts";
import { bodyOf, type CallPath, MESSAGES_MODEL } from "../support/ask.ts";
import { type Download, download, type Pace, post, read } from "../support/download.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, memoryMb, noCallsInFlight } from "../support/proof.ts";
import type { Directive } from "../support/provider/directive.ts";
import { until } from "../support/until.ts";

/**
 * 135 to 165 MB are seen, and 240 under Node 24 on a busy machine. A gateway that buffered the stream would use 200 MB more.
 */
const MEMORY_MB_MAX = 300;

let gateway: TestGateway;
let customer: Customer;

t.before(async () => {
  gateway = await startGateway({ config: { log: { level: "warn" } } });
  customer = await createCustomer(gateway, { creditVnd: 10_000_000 });
});
t.teardown(() => gateway.close());

/** The provider's own reply, which must arrive byte for byte. */
function fromProvider(path: CallPath, body: string): Promise<Download> {
  return download(gateway.simulator.url + path, body, { authorization: "Bearer simulated" });
}

/** Resolves once the provider writes nothing more to this endpoint, finished or blocked. */
async function standstill(path: CallPath): Promise<void> {
  let before = -1;
  let sent = 0;
  await until("the provider is blocked", async () => {
    before = sent;
    await delay(60);
    sent = (await gateway.simulator.stats())[path]?.["bytes"] ?? 0;
    return sent > 0 && sent === before;
  });
}

/**
 * A call whose client reads nothing until every buffer on the way is full, and then in small
 * pieces.
 */
async function call(
  path: CallPath,
  body: string,
  pace: Pace,
  { keep = false, upstreamPath = path } = {},
): Promise<Download> {
  await gateway.simulator.reset();
  const response = await post(gateway.url + path, body, { "x-api-key": customer.key });
  await standstill(upstreamPath);
  return read(response, { pace, keep });
}

async function assertIntact(path: CallPath, body: string, pace: Pace): Promise<Download> {
  const expected = await fromProvider(path, body.replace('"req/', '"'));
  assert.ok(expected.bytes > 1_000_000, `${expected.bytes} bytes do not fill the socket buffers`);
  const got = await call(path, body, pace);
  assert.equal(got.status, 200);
  assert.equal(got.error, undefined);
  assert.equal(got.bytes, expected.bytes);
  assert.equal(got.hash, expected.hash);
  return got;
}

/** A reader that falls behind repeatedly: less than a socket buffer at a time, with pauses. */
const STUTTER: Pace = { bytes: 300_000, pauseMs: 3, untilBytes: 20_000_000 };

t.test("a client that reads slowly", async (t) => {
  t.test(
    "gets 200 MB of a stream intact, while the gateway stays small and its upstream waits",
    async (t) => {
      const body = bodyOf("/v1/messages", { total_bytes: 200_000_000 }, { stream: true });
      const { bytes: whole, hash } = await fromProvider("/v1/messages", body);
      await gateway.simulator.reset();
      const response = await post(`${gateway.url}/v1/messages`, body, {
        "x-api-key": customer.key,
      });

      // The client does not read, so the provider blocks once the socket buffers are full.
      await standstill("/v1/messages");
      const { bytes: sent = 0, open } = (await gateway.simulator.stats())["/v1/messages"] ?? {};
      t.equal(open, 1);
      t.ok(sent < whole / 4, `${sent} bytes were sent to a client that does not read`);

      let most = 0;
      const sampling = setInterval(async () => {
        most = Math.max(most, await memoryMb(gateway, "VmRSS"));
      }, 20);
      const pace = { bytes: 20_000, pauseMs: 10, untilBytes: 3_000_000 };
      const got = await read(response, { pace });
      clearInterval(sampling);

      t.equal(got.error, undefined);
      t.equal(got.bytes, whole);
      t.equal(got.hash, hash);
      t.ok(most > 0 && most < MEMORY_MB_MAX, `the gateway used ${most} MB`);
    },
  );

  const streams: Record<string, Directive> = {
    "of many small events": { total_bytes: 16_000_000, event_delay_ms: 0 },
    "of packets full of events": { total_bytes: 16_000_000, coalesce: true },
    "of packets that split events": { total_bytes: 16_000_000, split_bytes: 13_999 },
    "of one giant event": { giant_event_bytes: 16_000_000, ignore_max_tokens: true },
  };
  for (const [name, directive] of Object.entries(streams)) {
    t.test(`gets every byte of a stream ${name}`, async () => {
      const more = { stream: true };
      await assertIntact("/v1/messages", bodyOf("/v1/messages", directive, more), STUTTER);
    });
  }

  t.test("gets every byte of streams with packets of all sizes", async () => {
    let seed = Date.now() % 2_147_483_647;
    t.comment(`seed ${seed}`);
    const random = (below: number) => {
      seed = (Math.imul(seed, 48_271) >>> 0) % 2_147_483_647;
      return seed % below;
    };
    const more = { stream: true, stream_options: { include_usage: true } };
    for (let round = 0; round < 6; round++) {
      const directive = { total_bytes: 12_000_000, split_bytes: 1_000 + random(13_000) };
      const pace = {
        bytes: 100_000 + random(400_000),
        pauseMs: 1 + random(5),
        untilBytes: 12_000_000,
      };
      const body = bodyOf("/v1/chat/completions", directive, more);
      await assertIntact("/v1/chat/completions", body, pace);
    }
  });

  t.test(
    "gets every event of a translated stream, which is written in many small pieces",
    async (t) => {
      // uWebSockets.js loses writes if several under one cork exceed 16 KB: see core/http/write.ts.
      const directive = { total_bytes: 16_000_000, coalesce: true };
      const text = (reply: Download, events: RegExp) => {
        const lines = reply.body.toString("utf8").matchAll(events);
        return Array.from(lines, ([, json]) => JSON.parse(`"${json}"`)).join("");
      };
      const asked = bodyOf("/v1/messages", directive, { stream: true });
      const provider = await download(
        `${gateway.simulator.url}/v1/messages`,
        asked,
        { "x-api-key": "simulated" },
        { keep: true },
      );
      const wanted = { model: MESSAGES_MODEL, stream: true };
      const path = "/v1/chat/completions";
      const body = bodyOf(path, directive, wanted);
      const got = await call(path, body, STUTTER, { keep: true, upstreamPath: "/v1/messages" });
      t.equal(got.error, undefined);
      const expected = text(provider, /"text_delta","text":"((?:[^"\\]|\\.)*)"/g);
      t.equal(expected.length, directive.total_bytes);
      t.equal(text(got, /"content":"((?:[^"\\]|\\.)*)"/g), expected);
      t.match(got.body.subarray(-100).toString(), /data: \[DONE\]\n\n$/);
    },
  );

  t.test("gets an unstreamed reply of 5 MB, with its cost in the head", async (t) => {
    const body = bodyOf("/v1/messages", { total_bytes: 5_000_000 });
    const got = await assertIntact("/v1/messages", body, STUTTER);
    t.match(String(got.headers["x-svc-cost-vnd"]), /^\d+(\.\d+)?$/);
    t.equal(got.headers["content-length"], String(got.bytes));
  });

  t.test("gets 20 MB of audio", async () => {
    const body = bodyOf("/v1/audio/speech", { audio_bytes: 20_000_000 });
    await assertIntact("/v1/audio/speech", body, STUTTER);
  });

  t.test("gets images as large as providers make them", async () => {
    // A call without a quality is sent the usual one, which the simulated provider repeats.
    const more = { quality: "medium" };
    const body = bodyOf("/v1/images/generations", { image_bytes: 3_000_000, images: 2 }, more);
    await assertIntact("/v1/images/generations", body, STUTTER);
  });

  t.test("can disconnect while its upstream waits: no open call and no hold remain", async () => {
    const body = bodyOf("/v1/messages", { total_bytes: 100_000_000 }, { stream: true });
    const response = await post(`${gateway.url}/v1/messages`, body, { "x-api-key": customer.key });
    await standstill("/v1/messages");
    response.destroy();
    await noCallsInFlight(gateway);
    await until("the upstream is cancelled", async () => {
      return (await gateway.simulator.stats())["/v1/messages"]?.["open"] === 0;
    });
    await assertReconciled(gateway);
  });
});
