import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Protocol } from "../../../../core/contract/protocol.ts";
import { httpJson } from "../../../../core/upstream/kinds/http-json.ts";
import type { OutgoingCall } from "../../../../core/upstream/kinds/kind.ts";

const ROUTE = { upstream: "main", model: "provider-model", weight: 1, priority: 0, profile: {} };

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
  const body = { model: "provider-model", max_tokens: 1 };
  return { protocol, path, stream: false, body, form: undefined, headers: [], ...more };
}

describe("an upstream of the kind http-json", () => {
  it("asks for Messages with its version header, then extra headers, then the client's", () => {
    const headers = ["anthropic-beta", "b"];
    assert.deepEqual(adapter.request(outgoing("messages", "/v1/messages", { headers }), ROUTE), {
      protocol: "messages",
      origin: "http://a.test:81",
      path: "/base/v1/messages",
      headers: [
        ...["anthropic-version", "2023-06-01", "x-project", "tollgate"],
        ...["anthropic-beta", "b", "content-type", "application/json"],
      ],
      body: `{"model":"provider-model","max_tokens":1}`,
    });
  });

  it("uses its keys in turn, each as its protocol wants it", () => {
    const asked = (protocol: Protocol, path: string) => {
      const request = adapter.request(outgoing(protocol, path), ROUTE);
      return request && adapter.authorise(request, 0);
    };
    assert.deepEqual(asked("messages", "/v1/messages"), ["x-api-key", "first"]);
    assert.deepEqual(asked("chat", "/chat/completions"), ["authorization", "Bearer second"]);
    assert.deepEqual(asked("chat", "/chat/completions"), ["authorization", "Bearer first"]);
  });

  it("sends a form with the route's model in place of the client's", () => {
    const part = (name: string, data: string) => ({ name, data: Buffer.from(data) });
    const form = [part("model", "client-model"), part("prompt", "in blue")];
    const call = outgoing("images", "/images/edits", { body: undefined, form });
    const request = adapter.request(call, ROUTE);
    const [, , , type] = request?.headers ?? [];
    const boundary = /^multipart\/form-data; boundary=(tollgate-[0-9a-f]{32})$/.exec(
      type ?? "",
    )?.[1];
    assert.ok(boundary);
    const field = (name: string, value: string) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const fields = field("model", "provider-model") + field("prompt", "in blue");
    assert.equal(String(request?.body), `${fields}--${boundary}--\r\n`);
  });

  it("makes no request in a protocol that it does not speak", () => {
    assert.equal(adapter.request(outgoing("speech", "/audio/speech"), ROUTE), undefined);
  });

  it("describes itself without its keys", () => {
    assert.deepEqual(adapter.describe(), {
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
    it(`takes ${statuses.join(", ")} as ${meaning}`, () => {
      for (const status of statuses) assert.equal(adapter.refusal(status), meaning, `${status}`);
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
    it(`reads a reply with ${status} and ${type ?? "no content type"} as ${decoder}`, () => {
      assert.equal(adapter.decoder(status, type), decoder);
    });
  }
});
