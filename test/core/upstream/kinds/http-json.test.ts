import t from "tap";
import type { Protocol } from "../../../../core/catalogue/endpoint.ts";
import { httpJson } from "../../../../core/upstream/kinds/http-json.ts";
import type { OutgoingCall } from "../../../../core/upstream/kinds/kind.ts";

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
  const json = `{"model":"provider-model","max_tokens":1}`;
  return { protocol, path, stream: false, json, form: undefined, headers: [], ...more };
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
        body: `{"model":"provider-model","max_tokens":1}`,
      });
    },
  );

  t.test("uses its keys in turn, in the header of each protocol", async (t) => {
    const asked = (protocol: Protocol, path: string) => {
      const request = adapter.request(outgoing(protocol, path), ROUTE);
      return request && adapter.authorise(request, 0);
    };
    t.strictSame(asked("messages", "/v1/messages"), ["x-api-key", "first"]);
    t.strictSame(asked("chat", "/chat/completions"), ["authorization", "Bearer second"]);
    t.strictSame(asked("chat", "/chat/completions"), ["authorization", "Bearer first"]);
  });

  t.test("sends a form with the route's model instead of the client's", async (t) => {
    const part = (name: string, data: string) => ({ name, data: Buffer.from(data) });
    const form = [part("model", "client-model"), part("prompt", "in blue")];
    const call = outgoing("images", "/images/edits", { json: undefined, form });
    const request = adapter.request(call, ROUTE);
    const [, , , type] = request?.headers ?? [];
    const boundary = /^multipart\/form-data; boundary=(tollgate-[0-9a-f]{32})$/.exec(
      type ?? "",
    )?.[1];
    t.ok(boundary);
    const field = (name: string, value: string) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const fields = field("model", "provider-model") + field("prompt", "in blue");
    t.equal(String(request?.body), `${fields}--${boundary}--\r\n`);
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
      keys: 2,
    });
  });

  for (const [meaning, statuses] of [
    ["account", [401, 402, 403]],
    ["elsewhere", [408, 429]],
    ["caller", [400, 404, 409, 413, 422, 451]],
    ["failed", [300, 301, 304, 307, 500, 502, 503, 529]],
  ] as const) {
    t.test(`takes ${statuses.join(", ")} as ${meaning}`, async (t) => {
      for (const status of statuses) t.equal(adapter.refusal(status), meaning, `${status}`);
    });
  }

  for (const [status, type, decoder] of [
    [200, "text/event-stream; charset=utf-8", "events"],
    [200, "application/json", "json"],
    [200, "audio/mpeg", "bytes"],
    [200, undefined, "json"],
    [400, "application/problem+json", "json"],
    [400, undefined, "json"],
    [400, "text/event-stream", "bytes"],
    [404, "text/html", "bytes"],
  ] as const) {
    t.test(
      `reads a reply with ${status} and ${type ?? "no content type"} as ${decoder}`,
      async (t) => {
        t.equal(adapter.decoder(status, type), decoder);
      },
    );
  }
});
