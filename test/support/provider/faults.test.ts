import t from "tap";
import type { Directive } from "./directive.ts";
import { chatBody, post, startBench } from "./sim.ts";

const chatPath = "/v1/chat/completions";

t.test("a simulated fault", async (t) => {
  const bench = await startBench();
  t.teardown(() => bench.simulator.close());

  const chat = (directive: Directive, more: object = {}, headers: Record<string, string> = {}) =>
    post(bench, chatPath, chatBody(directive, more), headers);
  const streamed = async (directive: Directive) => {
    const response = await chat(directive, { stream: true });
    const events: string[] = [];
    let text = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
      }
    } catch {
      events.push("destroyed");
    }
    // Ids are derived from the request, so they differ with the directive.
    const same = text.replaceAll(/chatcmpl-\w+/g, "chatcmpl-0");
    return [...same.split("\n\n").filter((event) => event !== ""), ...events];
  };

  t.test("cuts a stream after some events, or before the last", async (t) => {
    const directive = { text: "12345678" };
    const whole = await streamed(directive);
    t.equal(whole.length, 5);
    t.strictSame(await streamed({ ...directive, cut_after_events: 2 }), [
      ...whole.slice(0, 2),
      "destroyed",
    ]);
    t.strictSame(await streamed({ ...directive, cut_after_events: -1 }), [
      ...whole.slice(0, -1),
      "destroyed",
    ]);
    await t.rejects(streamed({ ...directive, cut_after_events: 0 }));
    t.strictSame(await streamed({ ...directive, end_after_events: -1 }), whole.slice(0, -1));
    t.strictSame(await streamed({ ...directive, end_after_events: 0 }), []);
  });

  t.test("applies only to the first calls with a key", async (t) => {
    const statuses: number[] = [];
    for (const directive of [
      { fail_times: 2, key: "a" },
      { fail_times: 1, key: "b", status: 500 },
    ]) {
      for (let call = 0; call < 3; call++) statuses.push((await chat(directive)).status);
    }
    t.strictSame(statuses, [503, 503, 200, 500, 200, 200]);
    await fetch(`${bench.url}/_sim/reset`, { method: "POST" });
    t.equal((await chat({ fail_times: 2, key: "a" })).status, 503);
    const cut = { fail_times: 1, key: "c", cut_after_events: 1 };
    t.equal((await streamed(cut)).at(-1), "destroyed");
    t.equal((await streamed(cut)).at(-1), "data: [DONE]");
  });

  t.test("applies only if the model or the key has it", async (t) => {
    const directive = { status: 500, when_model: "a" };
    t.equal((await chat(directive, { model: "a" })).status, 500);
    t.equal((await chat(directive, { model: "b" })).status, 200);
    const authorization = 'Bearer sim:{"status":503}';
    t.equal((await chat({}, {}, { authorization })).status, 503);
    t.equal((await chat({}, {}, { "x-sim": '{"status":504}' })).status, 504);
    t.equal((await chat({})).status, 200);
  });

  t.test("is a 400 if the request is invalid, as with real providers", async (t) => {
    const wrong: [string, object, RegExp][] = [
      [chatPath, { model: "m" }, /messages/],
      [chatPath, { messages: [{ role: "user", content: "x" }] }, /model/],
      [
        chatPath,
        { model: "m", messages: [{ role: "user" }], stream_options: {} },
        /only allowed when/,
      ],
      ["/v1/messages", { model: "m", messages: [{ role: "user", content: "x" }] }, /max_tokens/],
      ["/v1/messages", { model: "m", max_tokens: 1, messages: [] }, /at least one message/],
      ["/v1/responses", { model: "m" }, /input/],
      ["/v1/images/generations", { prompt: "x", n: 11 }, /'n'/],
      ["/v1/images/edits", { prompt: "x" }, /image/],
      ["/v1/audio/speech", { model: "m", input: "x" }, /voice/],
    ];
    for (const [path, body, message] of wrong) {
      const response = await post(bench, path, JSON.stringify(body));
      t.equal(response.status, 400, path);
      t.match(await response.text(), message);
    }
    t.equal((await post(bench, chatPath, "{")).status, 400);
    const typo = await post(bench, chatPath, chatBody({}).replace("{}", '{\\"dely_ms\\":1}'));
    t.equal(typo.status, 400);
    t.match(await typo.text(), /dely_ms/);
    t.equal((await post(bench, "/v1/v1/messages", "{}")).status, 404);
  });
});
