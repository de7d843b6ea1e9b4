import t from "tap";
import { RequestBody } from "../../../../core/body/request-body.ts";
import type { Protocol } from "../../../../core/catalogue/endpoint.ts";
import type { OutgoingCall } from "../../../../core/plugin/upstream-kind.ts";
import { httpJson } from "../../../../core/upstream/kinds/http-json.ts";

const JSON_TYPE = "application/json";
const ROUTE = {
  upstream: "main",
  model: "provider-model",
  weight: 1,
  priority: 0,
  profile: {},
  features: {},
};

const adapter = httpJson.create({
  protocols: {
    messages: "http://a.test:81/base",
    chat: "https://b.test/v1",
    images: "https://b.test/v1",
  },
  keys: ["first", "second"],
  headers: { "x-project": "tollgate" },
});

function outgoing(
  protocol: Protocol,
  path: string,
  more: Partial<OutgoingCall> = {},
): OutgoingCall {
  const body = RequestBody.of({ model: "provider-model", max_tokens: 1 });
  return { protocol, path, stream: false, contentType: JSON_TYPE, body, headers: [], ...more };
}

t.test("an upstream of the kind http-json", async (t) => {
  t.test(
    "sends Messages with the version header, then extra headers, then the client's",
    async (t) => {
      const headers = ["anthropic-beta", "b"];
      t.strictSame(adapter.request(outgoing("messages", "/v1/messages", { headers }), ROUTE), {
        protocol: "messages",
        origin: "http://a.test:81",
        path: "/base/v1/messages",
        headers: [
          ...["anthropic-version", "2023-06-01", "x-project", "tollgate"],
          ...["anthropic-beta", "b", "content-type", "application/json"],
        ],
        body: Buffer.from(`{"model":"provider-model","max_tokens":1}`),
      });
    },
  );

  t.test("sends the key that it is given, in the header of each protocol", async (t) => {
    const asked = (protocol: Protocol, path: string, key: string) => {
      const request = adapter.request(outgoing(protocol, path), ROUTE);
      return request && adapter.authorise(request, 0, key);
    };
    t.strictSame(adapter.keys, ["first", "second"]);
    t.strictSame(asked("messages", "/v1/messages", "first"), ["x-api-key", "first"]);
    const chat = asked("chat", "/chat/completions", "second");
    t.strictSame(chat, ["authorization", "Bearer second"]);
  });

  t.test("makes no request in an unsupported protocol", async (t) => {
    t.equal(adapter.request(outgoing("speech", "/audio/speech"), ROUTE), undefined);
  });

  t.test("is described without its keys", async (t) => {
    t.strictSame(adapter.describe(), {
      protocols: {
        messages: "http://a.test:81/base",
        chat: "https://b.test/v1",
        images: "https://b.test/v1",
      },
    });
  });
});
