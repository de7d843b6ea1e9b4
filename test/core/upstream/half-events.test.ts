import t from "tap";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { eventsOf } from "../../support/requests.ts";
import { startServer } from "../../support/server.ts";

const CALL = { model: "m", stream: true };
const EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const STOP = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';

/** Returns what the client gets of a stream whose body ends cleanly after `sent`. */
async function received(path: string, more: object, sent: string): Promise<string> {
  const server = await startServer([], (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).end(sent);
  });
  const client = await RawClient.open(server.port);
  await client.send(rawPost(path, "key", JSON.stringify({ ...CALL, ...more })));
  const { body } = await client.response();
  client.destroy();
  await server.close();
  return body.toString();
}

const chat = (sent: string) =>
  received("/v1/chat/completions", { messages: [{ role: "user" }] }, sent);

t.test("a stream whose body ends inside of an event", async (t) => {
  t.test("loses half an event, and ends with an error that can be read", async (t) => {
    const halves = ["da", "data: ", 'data: {"choices":[{"del', 'data: {"choices":[]\n', ": hm\n"];
    for (const half of halves) {
      const text = await chat(EVENT + half);
      const [event, error, ...rest] = eventsOf(text);
      t.match(event, { choices: [{ delta: { content: "a" } }] }, text);
      t.match(error, { error: { type: "api_error" } }, text);
      t.strictSame(rest, []);
    }
  });

  t.test("keeps a whole event, with the blank line that it lacks", async (t) => {
    for (const eol of ["", "\n", "\r\n"]) {
      const text = await chat(`${EVENT}data: {"choices":[{"delta":{"content":"b"}}]}${eol}`);
      const [, second, error] = eventsOf(text);
      t.match(second, { choices: [{ delta: { content: "b" } }] }, text);
      t.match(error, { error: { type: "api_error" } }, text);
      t.match(text, /\n\ndata: \{"error".*\n\n$/);
      t.match(await chat(`${EVENT}data: [DONE]${eol}`), /^data: .*\n\ndata: \[DONE\]\n\n$/);
    }
  });

  t.test("is whole without its terminal event, if its end was stated before", async (t) => {
    t.equal(await chat(`${EVENT}${STOP}data: [DO`), EVENT + STOP);
  });

  t.test("is not whole after half of its terminal event", async (t) => {
    const type = "response.completed";
    const item = { type: "message", content: [] };
    const added = { type: "response.output_text.delta", sequence_number: 0, delta: "a", item };
    const begun = `event: ${added.type}\ndata: ${JSON.stringify(added)}\n\n`;
    const half = `event: ${type}\ndata: {"type":"${type}","response":{"id":`;
    const text = await received("/v1/responses", { input: "hi" }, begun + half);
    t.strictSame(
      eventsOf(text).map((event) => event.type),
      [added.type, "error", "response.failed"],
      text,
    );
  });
});
