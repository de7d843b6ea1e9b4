import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import t from "tap";
import { until } from "../until.ts";
import type { Directive } from "./directive.ts";
import { chatBody, post, startBench, tally } from "./sim.ts";

const path = "/v1/chat/completions";

t.test("the simulator's tally", async (t) => {
  const bench = await startBench();
  t.teardown(() => bench.simulator.close());

  const open = async (body: string) => {
    const outgoing = request(bench.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    outgoing.on("error", () => {});
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    incoming.on("error", () => {});
    return { outgoing, incoming };
  };

  t.test("counts the outcome of each call and the tokens reported", async (t) => {
    await fetch(`${bench.url}/_sim/reset`, { method: "POST" });
    const directive = { input_tokens: 10, output_tokens: 3 };
    for (const more of [{}, { stream: true }]) {
      await (await post(bench, path, chatBody(directive, more))).text();
    }
    await post(bench, path, chatBody({ status: 500 }));
    await t.rejects(post(bench, path, chatBody({ reset: true })));
    const { calls, open, completed, failed, cut, aborted, input_tokens, output_tokens } =
      await tally(bench, path);
    t.strictSame(
      { calls, open, completed, failed, cut, aborted, input_tokens, output_tokens },
      {
        calls: 4,
        open: 0,
        completed: 2,
        failed: 1,
        cut: 1,
        aborted: 0,
        input_tokens: 20,
        output_tokens: 6,
      },
    );
  });

  t.test("stops generating if the client disconnects", async (t) => {
    const before = await tally(bench, path);
    const { outgoing, incoming } = await open(
      chatBody({ output_tokens: 10_000, event_delay_ms: 1 }, { stream: true }),
    );
    await once(incoming, "data");
    outgoing.destroy();
    await until("the abort is seen", async () => {
      return (await tally(bench, path))["aborted"] === before["aborted"]! + 1;
    });
    const { writes } = await tally(bench, path);
    await new Promise((resolve) => setTimeout(resolve, 20));
    t.equal((await tally(bench, path))["writes"], writes);
  });

  t.test("ends delays and silences early if their name is released, before or after", async (t) => {
    const release = (name: string) =>
      fetch(`${bench.url}/_sim/release?name=${name}`, { method: "POST" });
    const asking = async (directive: Directive, more = {}) => {
      const { incoming } = await open(chatBody({ output_tokens: 2, ...directive }, more));
      return incoming.resume();
    };
    const before = await tally(bench, path);
    const delayed = asking({ delay_ms: 600_000, until: "go" });
    const stream = await asking(
      { silent_ms: 600_000, silent_after_events: 2, until: "go" },
      { stream: true },
    );
    const ended = once(stream, "end");
    await until("both wait", async () => (await tally(bench, path))["open"] === 2);
    await (await release("gone")).text();
    t.equal((await tally(bench, path))["open"], 2);
    await (await release("go")).text();
    await Promise.all([delayed, ended]);
    await asking({ delay_ms: 600_000, until: "go" });
    t.equal((await tally(bench, path))["completed"], before["completed"]! + 3);
  });

  t.test("produces a large stream only as fast as it is read", async (t) => {
    const before = await tally(bench, path);
    const { outgoing, incoming } = await open(chatBody({ total_bytes: 1e9 }, { stream: true }));
    incoming.pause();
    const sent = async () => (await tally(bench, path))["bytes"]! - before["bytes"]!;
    let last = -1;
    await until("the simulator waits for its reader", async () => {
      const now = await sent();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const waits = now > 0 && now === last;
      last = now;
      return waits;
    });
    // The socket buffers of both ends hold some megabytes; an unlimited writer would have sent a
    // gigabyte.
    t.ok(last < 50e6, `${last} bytes were sent to a client that does not read`);
    outgoing.destroy();
  });

  t.test("sends all of a large stream in order", async (t) => {
    const response = await post(bench, path, chatBody({ total_bytes: 20e6 }, { stream: true }));
    let bytes = 0;
    for (const event of (await response.text()).split("\n\n")) {
      if (!event.startsWith("data: {")) continue;
      const chunk = JSON.parse(event.slice(6)) as { choices: [{ delta: { content?: string } }] };
      bytes += chunk.choices[0].delta.content?.length ?? 0;
    }
    t.equal(bytes, 20e6);
  });

  t.test("loses nothing to a slow reader if a write does not fit the cork", async (t) => {
    for (const directive of [{ total_bytes: 40e6 }, { giant_event_bytes: 20e6, deltas: 9_000 }]) {
      const { incoming } = await open(chatBody(directive, { stream: true }));
      let bytes = 0;
      let end = "";
      for await (const chunk of incoming as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        end = chunk.toString("latin1", chunk.length - 14);
        // A pause lets the simulator's socket fill, which is when uWebSockets.js may drop a write.
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      t.ok(bytes > 20e6);
      t.equal(end, "data: [DONE]\n\n");
    }
  });

  t.test("sends all of a large unstreamed reply", async (t) => {
    const response = await post(bench, path, chatBody({ total_bytes: 20e6 }));
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
    t.equal(choices[0].message.content.length, 20e6);
  });

  t.test("is healthy, and lists the model names that are directives", async (t) => {
    t.equal((await fetch(`${bench.url}/healthz`)).status, 200);
    const ids = (await bench.openai.models.list()).data.map(({ id }) => id);
    t.ok(ids.includes("sim-echo"));
  });
});
