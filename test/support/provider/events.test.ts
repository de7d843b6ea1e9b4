import t from "tap";
import type { Directive } from "./directive.ts";
import { asking, chatBody, post, startBench } from "./sim.ts";

t.test("the simulated events", async (t) => {
  const bench = await startBench();
  t.teardown(() => bench.simulator.close());

  const usages = async (directive: Directive, include_usage: boolean) => {
    const options = include_usage ? { stream_options: { include_usage } } : {};
    const response = await post(
      bench,
      "/v1/chat/completions",
      chatBody(directive, { stream: true, ...options }),
    );
    return (await response.text())
      .split("\n\n")
      .filter((event) => event.startsWith("data: {"))
      .map((event) => JSON.parse(event.slice(6)) as { choices: unknown[]; usage?: object | null });
  };

  t.test("of Chat have usage only if asked, in a last chunk without choices", async (t) => {
    const asked = await usages({ text: "12345678" }, true);
    t.strictSame(asked.at(-1)?.choices, []);
    t.ok(asked.at(-1)?.usage);
    t.ok(asked.slice(0, -1).every((chunk) => chunk.usage === null));
    const unasked = await usages({ text: "12345678" }, false);
    t.ok(unasked.every((chunk) => !("usage" in chunk) && chunk.choices.length === 1));
  });

  t.test("of Chat report usage in the different ways of providers", async (t) => {
    const missing = await usages({ usage: "missing" }, true);
    t.ok(missing.every((chunk) => !("usage" in chunk)));
    const zero = await usages({ usage: "zero" }, true);
    t.match(JSON.stringify(zero.at(-1)?.usage), /"total_tokens":0/);
    const everywhere = await usages({ usage: "every_chunk" }, false);
    t.ok(everywhere.every((chunk) => chunk.usage));
    const finish = await usages({ usage: "with_finish" }, true);
    t.equal(finish.at(-1)?.choices.length, 1);
    t.ok(finish.at(-1)?.usage);
  });

  t.test("of Messages report usage late", async (t) => {
    const content = asking({ input_tokens: 321, usage: "late" });
    const messages = [{ role: "user" as const, content }];
    const seen: (number | null)[] = [];
    const body = { model: "claude", max_tokens: 1_000, messages, stream: true } as const;
    for await (const event of await bench.anthropic.messages.create(body)) {
      if (event.type === "message_start") seen.push(event.message.usage.input_tokens);
      if (event.type === "message_delta") seen.push(event.usage.input_tokens ?? null);
    }
    t.strictSame(seen, [0, 321]);
  });

  t.test("of Responses are numbered without gaps, with the text as deltas", async (t) => {
    const input = [{ role: "user" as const, content: asking({ text: "abcdefgh", deltas: 2 }) }];
    const stream = await bench.openai.responses.create({ model: "gpt", input, stream: true });
    const types: string[] = [];
    for await (const event of stream) {
      t.equal(event.sequence_number, types.length);
      types.push(event.type.replace("response.", ""));
    }
    t.strictSame(types, [
      ...["created", "in_progress", "output_item.added", "content_part.added"],
      ...["output_text.delta", "output_text.delta", "output_text.done"],
      ...["content_part.done", "output_item.done", "completed"],
    ]);
  });
});
