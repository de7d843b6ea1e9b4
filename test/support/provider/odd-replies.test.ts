import t from "tap";
import { eventsOf } from "../requests.ts";
import type { Directive } from "./directive.ts";
import { asking, chatBody, post, startBench } from "./sim.ts";

const USAGE = { prompt_tokens: 5, completion_tokens: 7, extra: { nested: [1] } };

t.test("odd replies of the simulated provider", async (t) => {
  const bench = await startBench();
  t.teardown(() => bench.simulator.close());

  const chat = async (directive: Directive, more: object = {}) => {
    const reply = await post(bench, "/v1/chat/completions", chatBody(directive, more));
    return { reply, text: await reply.text() };
  };
  const messages = async (directive: Directive, more: object = {}) => {
    const turns = [{ role: "user", content: asking(directive) }];
    const body = { model: "m", max_tokens: 99, messages: turns, ...more };
    return (await post(bench, "/v1/messages", JSON.stringify(body))).text();
  };
  const responses = async (directive: Directive, more: object = {}) => {
    const body = { model: "m", input: asking(directive), ...more };
    return (await post(bench, "/v1/responses", JSON.stringify(body))).text();
  };

  t.test("report usage word for word, in the place that the directive names", async (t) => {
    const whole = async (place: "usage" | "choice" | "x_groq") =>
      JSON.parse((await chat({ reports: [[place, USAGE]] })).text);
    t.strictSame((await whole("usage")).usage, USAGE);
    const inChoice = await whole("choice");
    t.strictSame([inChoice.choices[0].usage, inChoice.usage], [USAGE, undefined]);
    t.strictSame((await whole("x_groq")).x_groq.usage, USAGE);
    t.strictSame(JSON.parse(await messages({ reports: [["usage", USAGE]] })).usage, USAGE);
    const image = { image_gen: { input_tokens: 1, output_tokens: 2 } };
    const reply = JSON.parse(await responses({ reports: [["usage", USAGE]], tool_usage: image }));
    t.strictSame([reply.usage, reply.tool_usage], [USAGE, image]);
  });

  t.test("report it in the event of a stream that the directive names, and no other", async (t) => {
    const reported = async (place: "first" | "finish" | "choice" | "x_groq" | "last") => {
      const { text } = await chat({ text: "x", reports: [[place, USAGE]] }, { stream: true });
      const at = eventsOf(text).map((event) =>
        JSON.stringify(event).includes('"nested"') ? Object.keys(event).join() : "",
      );
      t.equal(at.filter((keys) => keys !== "").length, 1, place);
      return at.findIndex((keys) => keys !== "");
    };
    // Role, text, finish, [usage], done.
    t.strictSame(
      [await reported("first"), await reported("finish"), await reported("choice")],
      [0, 2, 2],
    );
    t.strictSame([await reported("x_groq"), await reported("last")], [2, 3]);
    const events = eventsOf(
      await messages(
        {
          reports: [
            ["message_start", { input_tokens: 1 }],
            ["message_delta", { output_tokens: 2 }],
            ["message_delta", { output_tokens: 3 }],
          ],
        },
        { stream: true },
      ),
    );
    t.strictSame(
      events.flatMap((event) => event.message?.usage ?? event.usage ?? []),
      [{ input_tokens: 1 }, { output_tokens: 2 }, { output_tokens: 3 }],
    );
    const last = eventsOf(await responses({ reports: [["usage", USAGE]] }, { stream: true })).at(
      -1,
    );
    t.strictSame(last.response.usage, USAGE);
  });

  t.test("are given word for word, with any content type and status", async (t) => {
    const { reply, text } = await chat({ reply: { usage: null }, reply_status: 206 });
    t.strictSame([reply.status, text], [206, '{"usage":null}']);
    t.equal(reply.headers.get("content-type"), "application/json");
    const plain = await chat({ reply: "data: x\n\n", reply_type: "Text/Event-Stream" });
    t.equal(plain.reply.headers.get("content-type"), "Text/Event-Stream");
    t.equal(plain.text, "data: x\n\n");
    const created = await chat({ text: "usual", reply_status: 201 });
    t.equal(created.reply.status, 201);
    t.match(created.text, /usual/);
  });

  t.test("are streams of given events, asked for or not", async (t) => {
    const events = [{ choices: [] }, "data: [DONE]\n\n"];
    const { reply, text } = await chat({ reply: events });
    t.match(reply.headers.get("content-type"), /^text\/event-stream/);
    t.equal(text, 'data: {"choices":[]}\n\ndata: [DONE]\n\n');
    const named = await messages({ reply: [{ type: "ping" }] }, { stream: true });
    t.equal(named, 'event: ping\ndata: {"type":"ping"}\n\n');
  });

  t.test("of images are streamed with partial ones before the whole", async (t) => {
    const body = JSON.stringify({ prompt: "x", stream: true, partial_images: 2 });
    const text = await (await post(bench, "/v1/images/generations", body)).text();
    const types = eventsOf(text).map(({ type }) => type.replace("image_generation.", ""));
    t.strictSame(types, ["partial_image", "partial_image", "completed"]);
  });
});
