import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Directive } from "../../../plugins/simulator/directive.ts";
import { asking, type Bench, chatBody, post, startBench } from "./sim.ts";

describe("the simulated wire", () => {
  let bench: Bench;
  before(async () => {
    bench = await startBench();
  });
  after(() => bench.simulator.close());

  const text = async (directive: Directive) => {
    const response = await post(
      bench,
      "/v1/chat/completions",
      chatBody(directive, { stream: true }),
    );
    return response.text();
  };
  /**
   * Node's client hands over each HTTP chunk by itself, so the simulator's writes can be told apart: to a listener, that
   * is, since an iteration joins what has come between two of its steps.
   */
  const writes = async (directive: Directive) => {
    const outgoing = request(`${bench.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    outgoing.end(chatBody(directive, { stream: true }));
    const chunks: Buffer[] = [];
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(incoming, "end");
    return chunks;
  };

  it("gives the same bytes for the same request, other ids only when asked", async () => {
    assert.equal(await text({ text: "x" }), await text({ text: "x" }));
    assert.notEqual(await text({ unique_ids: true }), await text({ unique_ids: true }));
  });

  it("puts comments and pings before every nth event", async () => {
    const plain = (await text({ text: "x" })).split("\n").filter((line) => line.startsWith("data"));
    const noisy = await text({ text: "x", comments: 1 });
    assert.deepEqual(
      noisy.split("\n").filter((line) => line.startsWith("data")).length,
      plain.length,
    );
    assert.match(noisy, /^: simulated comment 0\n\ndata: /);
    assert.match(noisy, /\n\n: simulated comment 1\ndata: /);
    assert.equal((await text({ text: "x", pings: 2 })).match(/: ping\n\n/g)?.length, 2);
    const { content } = await bench.anthropic.messages
      .stream({
        model: "m",
        max_tokens: 99,
        messages: [
          { role: "user", content: asking({ pings: 1, comments: 2, text: "still here" }) },
        ],
      })
      .finalMessage();
    assert.deepEqual(content, [{ type: "text", text: "still here" }]);
  });

  it("ends its lines as asked", async () => {
    const lf = await text({ text: "a" });
    for (const eol of ["\r\n", "\r"] as const) {
      const other = await text({ text: "a", eol });
      assert.equal(
        other.replaceAll(eol, "\n").replace(/[0-9a-f]{24}/g, ""),
        lf.replace(/[0-9a-f]{24}/g, ""),
      );
      assert.equal(other.replaceAll(eol, "").includes("\n"), false);
    }
  });

  it("writes each event by itself, all in one, or cut anew", async () => {
    const events = await writes({ text: "12345678", event_delay_ms: 1 });
    assert.equal(events.length, 5);
    assert.ok(events.every((event) => /^data: .*\n\n$/s.test(event.toString())));
    assert.equal((await writes({ text: "12345678", coalesce: true })).length, 1);
    const split = await writes({ text: "Huế 🌏", split_bytes: 7, event_delay_ms: 0 });
    assert.ok(split.slice(0, -1).every((packet) => packet.length % 7 === 0));
    assert.ok(split.length > 20);
    assert.match(Buffer.concat(split).toString(), /\[DONE\]\n\n$/);
  });

  it("waits before the first byte, between events, and once in the middle", async () => {
    const took = async (directive: Directive) => {
      const start = performance.now();
      await text({ text: "12345678", ...directive });
      return performance.now() - start;
    };
    assert.ok((await took({ delay_ms: 60 })) >= 59);
    assert.ok((await took({ event_delay_ms: 15 })) >= 59);
    assert.ok((await took({ silent_ms: 60, silent_after_events: 2 })) >= 59);
  });

  it("sends one giant event", async () => {
    const events = (await text({ text: "end", giant_event_bytes: 1_000_000 })).split("\n\n");
    const giant = events.filter((event) => event.length > 1_000_000);
    assert.equal(giant.length, 1);
  });

  it("echoes the request as it arrived", async () => {
    const headers = { "x-custom": "1", authorization: "Bearer key" };
    const response = await post(
      bench,
      "/v1/chat/completions?q=1",
      chatBody({ echo: true }),
      headers,
    );
    const completion = (await response.json()) as { choices: [{ message: { content: string } }] };
    const echo = JSON.parse(completion.choices[0].message.content) as {
      method: string;
      path: string;
      headers: Record<string, string>;
      body: unknown;
    };
    assert.equal(echo.method, "POST");
    assert.equal(echo.path, "/v1/chat/completions?q=1");
    assert.equal(echo.headers["x-custom"], "1");
    assert.equal(echo.headers["authorization"], "Bearer key");
    assert.deepEqual(echo.body, JSON.parse(chatBody({ echo: true })));
  });
});
