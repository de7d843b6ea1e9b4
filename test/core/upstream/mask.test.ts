import t from "tap";
import { masked } from "../../../core/upstream/mask.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";

const HIDDEN = [
  "https://models.operator.example:8443",
  "models.operator.example:8443",
  "sk-operator-42",
];

t.test("an upstream's error reveals nothing of the operator", async (t) => {
  for (const [text, expected] of [
    ["Incorrect API key provided: sk-operator-42.", "Incorrect API key provided: ***."],
    ["org-OPERATOR at http://127.0.0.1:44005/v1", "*** at ***"],
    [
      "in organization org-aBcD1234efgh on requests per min",
      "in organization *** on requests per min",
    ],
    ["project proj_4f9aXb77 model m-1", "project *** model m-1"],
    ["POST https://models.operator.example:8443/v1/chat failed", "POST ***/v1/chat failed"],
    ["dial tcp 10.0.3.7:443: refused", "dial tcp ***: refused"],
    ["upstream gateway-7:8080 is down", "upstream *** is down"],
    ["https://internal.corp:8443/x failed", "*** failed"],
    ["lookup db.internal: no such host", "lookup ***: no such host"],
    ["at [fd00::1]:8080", "at ***"],
  ] as const) {
    t.equal(masked(text, HIDDEN), expected);
  }
});

t.test("what helps a caller stays", async (t) => {
  for (const text of [
    "max_tokens: 99999 > 64000, which is the maximum for claude-opus-5-5",
    "See https://platform.openai.com/docs/guides/error-codes for more.",
    "Visit docs.anthropic.com or write to support@example.com.",
    "org_limit reached, account_suspended, 12:30 to 14:00, gpt-5.6-sol v1.2.3",
    "messages.3.content.0.type: expected text; field 'a.b.c' at 1:20",
  ]) {
    t.equal(masked(text, HIDDEN), text);
  }
});

t.test(
  "a JSON error keeps its bytes if nothing is hidden, and its shape if something is",
  async (t) => {
    const plain = '{ "error": {"message": "too long", "code": 400, "param": null} }';
    t.equal(masked(plain, HIDDEN), plain);
    const escaped =
      '{"error":{"message":"asked http:\\/\\/127.0.0.1:9\\/v1 with sk-operator-42","code":404}}';
    t.strictSame(JSON.parse(masked(escaped, HIDDEN)), {
      error: { message: "asked *** with ***", code: 404 },
    });
  },
);

t.test(
  "a customer sees no key of the operator in a refusal, nor in the middle of a stream",
  async (t) => {
    const body = (stream: boolean, content: string) =>
      JSON.stringify({ model: "m", stream, messages: [{ role: "user", content }] });
    const server = await startServer([], (request, response) => {
      const key = request.headers.authorization;
      const { port } = request.socket.address() as { port: number };
      const message = `wrong ${key} at 127.0.0.1:${port}`;
      const error = { error: { message, code: "bad" } };
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.once("end", () => {
        if (!JSON.parse(text).stream) {
          response.writeHead(400, { "content-type": "application/json" });
          return response.end(JSON.stringify(error));
        }
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
        const sent = text.includes("a string") ? { error: `${message}, "code":"bad"` } : error;
        return response.end(`data: ${JSON.stringify(sent)}\n\n`);
      });
    });
    t.teardown(() => server.close());
    for (const [stream, error] of [
      [false, "an object"],
      [true, "an object"],
      [true, "a string"],
    ] as const) {
      const client = await RawClient.open(server.port);
      await client.send(rawPost("/v1/chat/completions", "key", body(stream, error)));
      const reply = (await client.response()).body.toString();
      t.match(reply, "wrong Bearer *** at ***");
      t.match(reply, /\\?"code\\?":\\?"bad/);
      t.notMatch(reply, /ended before completion/);
      client.destroy();
    }
  },
);
