import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import t from "tap";
import type { Directive } from "./directive.ts";
import { asking, chatBody, post, startBench } from "./sim.ts";

t.test("the simulated wire", async (t) => {
  const bench = await startBench();
  t.teardown(() => bench.simulator.close());

  const text = async (directive: Directive) => {
    const response = await post(
      bench,
      "/v1/chat/completions",
      chatBody(directive, { stream: true }),
    );
    return response.text();
  };
  /**
   * Node's client emits one `data` event per HTTP chunk, so a listener can tell the simulator's
   * writes apart. An async iterator would join chunks that arrive between two of its steps.
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

  t.test("sends the same bytes for the same request, and other ids only if asked", async (t) => {
    t.equal(await text({ text: "x" }), await text({ text: "x" }));
    t.not(await text({ unique_ids: true }), await text({ unique_ids: true }));
  });

  t.test("puts comments and pings before every nth event", async (t) => {
    const plain = (await text({ text: "x" })).split("\n").filter((line) => line.startsWith("data"));
    const noisy = await text({ text: "x", comments: 1 });
    t.strictSame(noisy.split("\n").filter((line) => line.startsWith("data")).length, plain.length);
    t.match(noisy, /^: simulated comment 0\n\ndata: /);
    t.match(noisy, /\n\n: simulated comment 1\ndata: /);
    t.equal((await text({ text: "x", pings: 2 })).match(/: ping\n\n/g)?.length, 2);
    const { content } = await bench.anthropic.messages
      .stream({
        model: "m",
        max_tokens: 99,
        messages: [
          { role: "user", content: asking({ pings: 1, comments: 2, text: "still here" }) },
        ],
      })
      .finalMessage();
    t.strictSame(content, [{ type: "text", text: "still here" }]);
  });

  t.test("uses the requested line ending", async (t) => {
    const lf = await text({ text: "a" });
    for (const eol of ["\r\n", "\r"] as const) {
      const other = await text({ text: "a", eol });
      t.equal(
        other.replaceAll(eol, "\n").replace(/[0-9a-f]{24}/g, ""),
        lf.replace(/[0-9a-f]{24}/g, ""),
      );
      t.equal(other.replaceAll(eol, "").includes("\n"), false);
    }
  });

  t.test("writes each event by itself, all at once, or split at other places", async (t) => {
    const events = await writes({ text: "12345678", event_delay_ms: 1 });
    t.equal(events.length, 5);
    t.ok(events.every((event) => /^data: .*\n\n$/s.test(event.toString())));
    t.equal((await writes({ text: "12345678", coalesce: true })).length, 1);
    const split = await writes({ text: "Huế 🌏", split_bytes: 7, event_delay_ms: 0 });
    t.ok(split.slice(0, -1).every((packet) => packet.length % 7 === 0));
    t.ok(split.length > 20);
    t.match(Buffer.concat(split).toString(), /\[DONE\]\n\n$/);
  });

  t.test("waits before the first byte, between events, or once in the middle", async (t) => {
    const took = async (directive: Directive) => {
      const start = performance.now();
      await text({ text: "12345678", ...directive });
      return performance.now() - start;
    };
    t.ok((await took({ delay_ms: 60 })) >= 59);
    t.ok((await took({ event_delay_ms: 15 })) >= 59);
    t.ok((await took({ silent_ms: 60, silent_after_events: 2 })) >= 59);
  });

  t.test("sends one giant event", async (t) => {
    const events = (await text({ text: "end", giant_event_bytes: 1_000_000 })).split("\n\n");
    const giant = events.filter((event) => event.length > 1_000_000);
    t.equal(giant.length, 1);
  });

  t.test("echoes the request as received", async (t) => {
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
    t.equal(echo.method, "POST");
    t.equal(echo.path, "/v1/chat/completions?q=1");
    t.equal(echo.headers["x-custom"], "1");
    t.equal(echo.headers["authorization"], "Bearer key");
    t.strictSame(echo.body, JSON.parse(chatBody({ echo: true })));
  });
});
