import assert from "node:assert/strict";
import t from "tap";
import { admin } from "../support/admin.ts";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { freePort } from "../support/free-port.ts";
import { startGateway } from "../support/gateway.ts";
import { suspend } from "../support/ledger-sql.ts";
import {
  type Answer,
  bodies,
  get,
  openStream,
  paths,
  post,
  reload,
  send,
} from "../support/requests.ts";

/** A small body for each endpoint that succeeds. */
const CALLS = [
  [paths.messages, bodies.messages()],
  [paths.chat, bodies.chat()],
  [paths.responses, bodies.responses()],
  [paths.images, bodies.images()],
  [paths.edits, bodies.images({}, { image: "iVBORw0KGgo=" })],
  [paths.speech, bodies.speech()],
] as const;

/** A stream that is silent after its first text. */
const BEGUN = { text: "begun", silent_ms: 600_000, silent_after_events: 3 };

t.test("the specification's tables", async (t) => {
  const unreachable = `http://127.0.0.1:${await freePort()}`;
  const gateway = await startGateway({
    config: {
      // An unreachable provider: no process listens at this address.
      upstreams: {
        xai: { protocols: { chat: `${unreachable}/v1`, responses: `${unreachable}/v1` } },
      },
    },
  });
  const customer = await customerWith(gateway);
  t.teardown(() => gateway.close());

  /** Fails unless the reply is this error in exactly its endpoint's shape. */
  function assertError(
    answer: Answer,
    status: number,
    type: string,
    message: RegExp,
    { param = null, code = null }: { param?: string | null; code?: string | null } = {},
    isMessages = false,
  ): void {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers.get("content-type"), "application/json");
    const id = answer.headers.get("x-request-id");
    assert.ok(id);
    const text = answer.json.error.message;
    assert.match(text, message);
    if (isMessages) {
      const expected = { type: "error", error: { type, message: text }, request_id: id };
      assert.deepEqual(answer.json, expected);
    } else assert.deepEqual(answer.json, { error: { message: text, type, param, code } });
  }

  t.test("aliasing", async (t) => {
    const mapped = async (path: string, body: object) => {
      const answer = await post(gateway, path, customer, body);
      assert.equal(answer.status, 200, answer.text);
      return [answer.headers.get("x-svc-model"), answer.headers.get("x-svc-model-mapped-from")];
    };

    t.test("rule 1: short names of families stand for their generation-5 models", async (t) => {
      for (const [name, model] of [
        ["fable", "claude-fable-5-2"],
        ["opus", "claude-opus-5-5"],
        ["sonnet", "claude-sonnet-5-5"],
        ["haiku", "claude-haiku-5-5"],
      ]) {
        const { model: _, ...body } = bodies.messages();
        t.strictSame(await mapped(paths.messages, { model: name, ...body }), [model, name]);
        const chat = bodies.chat({}, { model: name });
        t.strictSame(await mapped(paths.chat, chat), [model, name]);
        const responses = bodies.responses({}, { model: name });
        t.strictSame(await mapped(paths.responses, responses), [model, name]);
      }
    });

    t.test(
      "rule 2: smaller tiers and unsupported names fall back to the top model of the default family",
      async (t) => {
        for (const name of [
          "claude-3-haiku-20240307",
          "gpt-3.5-turbo",
          "opus-mini",
          "openai/gpt-4.1-nano",
          "Claude-Opus-5-5",
          "no such model",
        ]) {
          const [model, from] = await mapped(paths.messages, bodies.messages({}, { model: name }));
          t.equal(model, "claude-opus-5-5");
          t.equal(from, name.includes(" ") ? "no%20such%20model" : name);
        }
      },
    );

    t.test(
      "rule 2: an unsupported name on an image or speech endpoint is a 404, as no family serves it",
      async () => {
        for (const [path, body] of [
          [paths.images, bodies.images({}, { model: "dall-e-3" })],
          [paths.edits, bodies.images({}, { model: "dall-e-3", image: "iVBORw0KGgo=" })],
          [paths.speech, bodies.speech({}, { model: "tts-1" })],
        ] as const) {
          const answer = await post(gateway, path, customer, body);
          const detail = { param: "model", code: "model_not_found" };
          assertError(answer, 404, "not_found_error", /GET \/v1\/models lists the names/, detail);
        }
      },
    );

    t.test(
      "rule 3: x-svc-model-mapped-from is sent only if a name was mapped, also with streams",
      async (t) => {
        const plain = await mapped(paths.messages, bodies.messages());
        t.strictSame(plain, ["claude-opus-5-5", null]);
        const stream = bodies.messages({}, { model: "haiku", stream: true });
        t.strictSame(await mapped(paths.messages, stream), ["claude-haiku-5-5", "haiku"]);
        const own = await customerWith(gateway);
        await post(gateway, paths.chat, own, bodies.chat({}, { model: "tên không có" }));
        const record = await billedCall(gateway, own);
        t.equal(record["mapped_from"], "tên không có");
        t.equal(record["model"], "claude-opus-5-5");
      },
    );

    t.test("a name cannot smuggle a line into the response headers", async (t) => {
      const evil = "x\r\nset-cookie: a=b";
      const answer = await post(gateway, paths.chat, customer, bodies.chat({}, { model: evil }));
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("set-cookie"), null);
      const header = answer.headers.get("x-svc-model-mapped-from");
      t.equal(header, "x%0D%0Aset-cookie%3A%20a%3Db");
    });
  });

  t.test("authentication", async (t) => {
    const models = (headers: Record<string, string>) => send(gateway, "/v1/models", { headers });

    t.test("rule 1: either header is accepted on every endpoint", async (t) => {
      const { key } = customer;
      const either: Record<string, string>[] = [
        { "x-api-key": key },
        { authorization: `Bearer ${key}` },
        { authorization: `bearer ${key}` },
      ];
      for (const [path, body] of CALLS) {
        for (const headers of either) {
          const answer = await post(gateway, path, undefined, body, headers);
          t.equal(answer.status, 200, path);
        }
      }
      t.equal((await models({ "x-api-key": key })).status, 200);
      t.equal((await models({ authorization: `Bearer ${key}` })).status, 200);
    });

    t.test("rule 1: an empty header does not hide the other one", async (t) => {
      const { key } = customer;
      const both = await models({ "x-api-key": "", authorization: `Bearer ${key}` });
      t.equal(both.status, 200);
      t.equal((await models({ "x-api-key": key, authorization: "" })).status, 200);
    });

    t.test(
      "rule 2: a missing or wrong key gets 401 authentication_error on every endpoint",
      async () => {
        const refused: Record<string, string>[] = [
          {},
          { "x-api-key": "" },
          { authorization: "Bearer" },
          { authorization: `Basic ${customer.key}` },
          { "x-api-key": "tg-wrong" },
          { authorization: `Bearer ${customer.key.slice(0, -1)}` },
          { authorization: `Bearer ${customer.key}x` },
          { "x-api-key": "x".repeat(5000) },
        ];
        for (const [path, body] of CALLS) {
          for (const headers of refused) {
            const answer = await post(gateway, path, undefined, body, headers);
            const isMessages = path === paths.messages;
            const code = { code: "invalid_api_key" };
            assertError(answer, 401, "authentication_error", /key/, code, isMessages);
          }
        }
        const list = await get(gateway, "/v1/models", undefined);
        assertError(list, 401, "authentication_error", /key is required/, {
          code: "invalid_api_key",
        });
      },
    );

    t.test(
      "rule 2: a revoked key is refused at once, and the account's other keys still work",
      async (t) => {
        const own = await customerWith(gateway);
        const { body } = await admin(gateway, "POST", `/accounts/${own.accountId}/keys`, {
          name: "other",
        });
        const call = (key: unknown) =>
          post(gateway, paths.messages, { key: String(key) }, bodies.messages());
        t.equal((await call(own.key)).status, 200);
        t.equal((await call(body["key"])).status, 200);
        await admin(gateway, "POST", `/keys/${own.keyId}/revoke`);
        const answer = await call(own.key);
        assertError(answer, 401, "authentication_error", /revoked/, {}, true);
        t.equal((await call(body["key"])).status, 200);
      },
    );

    t.test(
      "rule 3: an account has at most 10 active keys, and a revoked one makes room",
      async (t) => {
        const { accountId, keyId } = await customerWith(gateway);
        const create = async (name: string) =>
          (await admin(gateway, "POST", `/accounts/${accountId}/keys`, { name })).status;
        for (let made = 2; made <= 10; made++) t.equal(await create(`key ${made}`), 201);
        t.equal(await create("key 11"), 409);
        await admin(gateway, "POST", `/keys/${keyId}/revoke`);
        t.equal(await create("key 11"), 201);
      },
    );

    t.test("rule 4: usage is recorded by key", async (t) => {
      const own = await customerWith(gateway);
      await post(gateway, paths.chat, own, bodies.chat());
      t.equal((await billedCall(gateway, own))["key_id"], own.keyId);
    });

    t.test("a suspended account gets 403 permission_error", async () => {
      const own = await customerWith(gateway);
      await suspend(gateway, own.accountId);
      const chat = await post(gateway, paths.chat, own, bodies.chat());
      assertError(chat, 403, "permission_error", /suspended/);
    });

    t.test("the key is not sent to the provider", async (t) => {
      const answer = await post(gateway, paths.chat, customer, bodies.chat({ echo: true }));
      t.ok(!answer.text.includes(customer.key));
    });
  });

  t.test("errors", async (t) => {
    const both = async (
      body: (path: string) => unknown,
      status: number,
      type: string,
      message: RegExp,
      detail: { param?: string; code?: string } = {},
    ) => {
      for (const [path] of CALLS) {
        const answer = await post(gateway, path, customer, body(path));
        assertError(answer, status, type, message, detail, path === paths.messages);
      }
    };

    t.test("400 invalid_request_error: invalid JSON", async () => {
      await both(() => "{", 400, "invalid_request_error", /not valid JSON/);
      await both(() => "", 400, "invalid_request_error", /empty/);
      await both(() => "[1]", 400, "invalid_request_error", /must be a JSON object/);
      await both(() => "null", 400, "invalid_request_error", /must be a JSON object/);
    });

    t.test("400 invalid_request_error: bytes that are no UTF-8", async () => {
      const answer = await send(gateway, paths.chat, {
        method: "POST",
        headers: { authorization: `Bearer ${customer.key}` },
        body: Buffer.from([0x7b, 0xff, 0x7d]),
      });
      assertError(answer, 400, "invalid_request_error", /not UTF-8/);
    });

    t.test("400 invalid_request_error: a missing or wrong parameter, by its name", async () => {
      for (const [path, body, param] of [
        [paths.messages, bodies.messages({}, { model: undefined }), "model"],
        [paths.messages, bodies.messages({}, { messages: undefined }), "messages"],
        [paths.messages, bodies.messages({}, { messages: [] }), "messages"],
        [paths.messages, bodies.messages({}, { max_tokens: undefined }), "max_tokens"],
        [paths.messages, bodies.messages({}, { max_tokens: -1 }), "max_tokens"],
        [paths.messages, bodies.messages({}, { max_tokens: 1.5 }), "max_tokens"],
        [paths.messages, bodies.messages({}, { stream: "yes" }), "stream"],
        [paths.chat, bodies.chat({}, { model: undefined }), "model"],
        [paths.chat, bodies.chat({}, { model: 7 }), "model"],
        [paths.chat, bodies.chat({}, { messages: "hello" }), "messages"],
        [paths.chat, bodies.chat({}, { max_tokens: -1 }), "max_tokens"],
        [paths.chat, bodies.chat({}, { n: 0 }), "n"],
        [paths.chat, bodies.chat({}, { n: 129 }), "n"],
        [paths.responses, bodies.responses({}, { input: undefined }), "input"],
        [paths.responses, bodies.responses({}, { max_output_tokens: 0 }), "max_output_tokens"],
        [paths.images, bodies.images({}, { prompt: undefined }), "prompt"],
        [paths.images, bodies.images({}, { n: 0 }), "n"],
        [paths.images, bodies.images({}, { n: 11 }), "n"],
        [paths.images, bodies.images({}, { n: "2" }), "n"],
        [paths.images, bodies.images({}, { size: "large" }), "size"],
        [paths.images, bodies.images({}, { size: "1024X1024" }), "size"],
        [paths.edits, bodies.images(), "image"],
        [paths.speech, bodies.speech({}, { input: undefined }), "input"],
        [paths.speech, bodies.speech({}, { voice: "" }), "voice"],
      ] as const) {
        const answer = await post(gateway, path, customer, body);
        const isMessages = path === paths.messages;
        const message = new RegExp(`^${param}: `);
        assertError(answer, 400, "invalid_request_error", message, { param }, isMessages);
      }
    });

    t.test("400 invalid_request_error: JSON that is nested too deeply", async () => {
      const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
      const body = `{"model":"gpt-4.1-nano","messages":[${deep}]}`;
      const answer = await post(gateway, paths.chat, customer, body);
      assertError(answer, 400, "invalid_request_error", /nested too deeply/);
      const results = `${'[{"type":"tool_result","content":'.repeat(20_000)}1${"}]".repeat(20_000)}`;
      const tools = `{"model":"opus","max_tokens":9,"messages":[{"role":"user","content":${results}}]}`;
      const nested = await post(gateway, paths.messages, customer, tools);
      assertError(nested, 400, "invalid_request_error", /nested too deeply/, {}, true);
    });

    t.test("402 insufficient_balance: the wallet is exhausted", async () => {
      const poor = await customerWith(gateway, "0.000001");
      for (const [path, body] of CALLS) {
        const answer = await post(gateway, path, poor, body);
        const code = { code: "insufficient_balance" };
        const isMessages = path === paths.messages;
        assertError(answer, 402, "insufficient_balance", /Top up at http/, code, isMessages);
        assert.equal(answer.headers.get("x-should-retry"), "false");
      }
    });

    t.test(
      "404: a wrong base address, even without a key, with the right one in the message",
      async (t) => {
        for (const [path, message] of [
          ["/messages", /\/v1 is missing: use \/v1\/messages/],
          ["/chat/completions", /\/v1 is missing: use \/v1\/chat\/completions/],
          ["/models", /\/v1 is missing: use \/v1\/models/],
          ["/v1/v1/messages", /\/v1 is doubled: use \/v1\/messages/],
          ["/v1/v1/chat/completions", /\/v1 is doubled: use \/v1\/chat\/completions/],
          ["/v1/v1/audio/speech", /\/v1 is doubled: use \/v1\/audio\/speech/],
          ["/api/v1/responses", /Use \/v1\/responses/],
          // A page has this path for GET.
          ["/dashboard/v1/chat/completions", /Use \/v1\/chat\/completions/],
          ["/dashboard/chat/completions", /\/v1 is missing: use \/v1\/chat\/completions/],
          ["/dashboard/responses", /\/v1 is missing: use \/v1\/responses/],
          ["/dashboard/v1/messages/", /Use \/v1\/messages/],
          ["/v1/completions", /The endpoints of this gateway are \/v1\/messages, /],
          ["/v1/audio/transcriptions", /There is no .* here\. The endpoints of this gateway are/],
          ["/v1/responses/resp_1", /The endpoints of this gateway are .*\/v1\/responses/],
          ["/", /The endpoints of this gateway are/],
        ] as const) {
          const answer = await post(gateway, path, undefined, "{}");
          assertError(answer, 404, "not_found_error", message, { code: "not_found" });
        }
        for (const method of ["PUT", "PATCH"]) {
          // Routes of their own, with other methods, are no mistake of an address.
          for (const path of ["/account/v1/messages", "/admin/v1/models"]) {
            const { status } = await fetch(`${gateway.url}${path}`, { method });
            t.equal(status, 405, path);
          }
        }
        const versioned = { "anthropic-version": "2023-06-01" };
        const shaped = await post(gateway, "/v1/v1/messages", undefined, "{}", versioned);
        assertError(shaped, 404, "not_found_error", /doubled/, {}, true);
      },
    );

    t.test("400 for Claude Code with a wrong address, as it hides the text of a 404", async () => {
      const agent = { "anthropic-version": "2023-06-01", "user-agent": "claude-cli/2.1.197" };
      const doubled = await post(gateway, "/v1/v1/messages?beta=true", undefined, "{}", agent);
      assertError(
        doubled,
        400,
        "invalid_request_error",
        /\/v1 is doubled: use \/v1\/messages/,
        {},
        true,
      );
      for (const base of ["/v1/messages", "/v1/chat/completions", "/api", "/dashboard"]) {
        const path = `${base}/v1/messages`;
        const mistaken = await post(gateway, path, undefined, "{}", agent);
        assertError(mistaken, 400, "invalid_request_error", /Use \/v1\/messages\./, {}, true);
      }
      const other = await post(gateway, "/v1/nothing", undefined, "{}", agent);
      assertError(other, 404, "not_found_error", /The endpoints of this gateway/, {}, true);
    });

    t.test("405 with the methods that a path accepts", async (t) => {
      const answer = await get(gateway, paths.chat, customer);
      assertError(answer, 405, "invalid_request_error", /takes POST/);
      t.equal(answer.headers.get("allow"), "POST");
    });

    t.test("429 rate_limit_error of the provider is passed on with its retry-after", async (t) => {
      const limited = { status: 429, retry_after: 12 };
      const messages = await post(gateway, paths.messages, customer, bodies.messages(limited));
      t.equal(messages.status, 429);
      t.equal(messages.json.type, "error");
      t.equal(messages.json.error.type, "rate_limit_error");
      t.equal(messages.headers.get("retry-after"), "12");
      const chat = await post(gateway, paths.chat, customer, bodies.chat(limited));
      t.equal(chat.status, 429);
      t.equal(typeof chat.json.error.message, "string");
      t.equal(chat.headers.get("retry-after"), "12");
    });

    t.test(
      "4xx of the provider are passed on with its message, in the protocol's shape",
      async (t) => {
        const refused = {
          status: 400,
          error: { message: "temperature: too hot", param: "temperature" },
        };
        const messages = await post(gateway, paths.messages, customer, bodies.messages(refused));
        t.equal(messages.status, 400);
        t.equal(messages.json.type, "error");
        t.equal(messages.json.error.type, "invalid_request_error");
        t.equal(messages.json.error.message, "temperature: too hot");
        const chat = await post(gateway, paths.chat, customer, bodies.chat(refused));
        t.equal(chat.status, 400);
        t.equal(chat.json.error.message, "temperature: too hot");
        t.equal(chat.json.error.param, "temperature");
      },
    );

    t.test(
      "4xx of the provider with an HTML page are passed on in the protocol's shape",
      async (t) => {
        for (const [status, type] of [
          [413, "request_too_large"],
          [418, "invalid_request_error"],
        ] as const) {
          const page = {
            status,
            body: "<html>nginx</html>",
            content_type: "text/html",
            retry_after: 3,
          };
          for (const stream of [false, true]) {
            const messages = await post(
              gateway,
              paths.messages,
              customer,
              bodies.messages(page, { stream }),
            );
            assertError(messages, status, type, new RegExp(`HTTP ${status}`), {}, true);
            const chat = await post(gateway, paths.chat, customer, bodies.chat(page, { stream }));
            assertError(chat, status, type, new RegExp(`HTTP ${status}`));
            t.equal(chat.headers.get("retry-after"), "3");
            const translated = bodies.chat(page, { model: "opus", stream });
            t.equal((await post(gateway, paths.chat, customer, translated)).status, status);
          }
        }
      },
    );

    t.test("502 api_error: the provider cannot be reached", async () => {
      for (const stream of [false, true]) {
        const chat = bodies.chat({}, { model: "grok-4.5", stream });
        const answer = await post(gateway, paths.chat, customer, chat);
        assertError(answer, 502, "api_error", /cannot be reached\. Nothing was charged/);
        const messages = bodies.messages({}, { model: "grok-4.5", stream });
        const translated = await post(gateway, paths.messages, customer, messages);
        assertError(translated, 502, "api_error", /cannot be reached/, {}, true);
      }
    });

    t.test(
      "502 api_error: the provider refuses the gateway's own key, which the customer does not see",
      async () => {
        for (const status of [401, 402, 403]) {
          const secret = { status, error: { message: "the gateway's account is overdue" } };
          const answer = await post(gateway, paths.chat, customer, bodies.chat(secret));
          assertError(answer, 502, "api_error", /cannot be used at the moment/);
        }
      },
    );

    t.test("502 api_error: the provider fails", async () => {
      for (const status of [500, 502, 504]) {
        const answer = await post(gateway, paths.messages, customer, bodies.messages({ status }));
        assertError(answer, 502, "api_error", /Nothing was charged/, {}, true);
      }
    });

    t.test(
      "529 overloaded_error, which is 503 in other protocols: the provider is overloaded",
      async () => {
        for (const status of [503, 529]) {
          const answer = await post(gateway, paths.messages, customer, bodies.messages({ status }));
          assertError(answer, 529, "overloaded_error", /Nothing was charged/, {}, true);
          const chat = await post(gateway, paths.chat, customer, bodies.chat({ status }));
          t.equal(chat.status, 503, chat.text);
        }
      },
    );

    t.test(
      "503 service_unavailable: more open calls than the gateway accepts, with retry-after",
      async (t) => {
        const own = await customerWith(gateway);
        await reload(gateway, { config: { limits: { calls_max: 1 } } });
        const stream = await openStream(
          gateway,
          paths.chat,
          own,
          bodies.chat(BEGUN, { stream: true }),
        );
        await stream.until((text) => text.includes("data: "));
        for (const [path, body] of CALLS) {
          const answer = await post(gateway, path, own, body);
          const isMessages = path === paths.messages;
          assertError(answer, 503, "service_unavailable", /try again shortly/, {}, isMessages);
          t.equal(answer.headers.get("retry-after"), "1");
        }
        stream.leave();
        await reload(gateway, {});
      },
    );

    t.test(
      "504 timeout_error: a call that exceeds the time limit is cancelled upstream and costs nothing",
      async (t) => {
        const own = await customerWith(gateway);
        await reload(gateway, { config: { limits: { call_seconds: 1 } } });
        const answer = await post(gateway, paths.messages, own, bodies.messages({ hang: true }));
        assertError(answer, 504, "timeout_error", /longer than the limit of 1 second/, {}, true);
        await assertNotCharged(gateway, own);
        const stream = bodies.chat(BEGUN, { stream: true });
        const cut = await post(gateway, paths.chat, own, stream);
        t.equal(cut.status, 200);
        t.match(cut.text, /"type":"timeout_error"[^\n]*\n\n$/);
        await reload(gateway, {});
      },
    );

    t.test("none of them is charged", async (t) => {
      const own = await customerWith(gateway);
      for (const answer of [
        await post(gateway, paths.chat, own, "{"),
        await post(gateway, paths.chat, own, bodies.chat({}, { model: "grok-4.5" })),
        await post(gateway, paths.chat, own, bodies.chat({ status: 404, body: "x" })),
        await post(gateway, paths.images, own, bodies.images({}, { model: "opus" })),
      ]) {
        t.ok(answer.status >= 400);
        t.equal(answer.headers.get("x-svc-cost-vnd"), null);
      }
      await assertNotCharged(gateway, own);
    });
  });

  t.test("response headers", async (t) => {
    const directive = { input_tokens: 1000, output_tokens: 500, text: "ok" };
    const own = (headers: Headers) =>
      Object.fromEntries([...headers].filter(([name]) => name.startsWith("x-svc-")));

    t.test("of a call priced per token", async (t) => {
      const answer = await post(
        gateway,
        paths.messages,
        customer,
        bodies.messages(directive, { model: "opus" }),
      );
      t.strictSame(own(answer.headers), {
        "x-svc-model": "claude-opus-5-5",
        "x-svc-model-mapped-from": "opus",
        "x-svc-input-tokens": "1000",
        "x-svc-output-tokens": "500",
        "x-svc-cost-vnd": "54",
        "x-svc-price-vnd-per-mtok": "36000",
      });
    });

    t.test("of a call with a fixed price", async (t) => {
      const body = bodies.chat(directive, { model: "req/gpt-4.1-nano" });
      const answer = await post(gateway, paths.chat, customer, body);
      t.strictSame(own(answer.headers), {
        "x-svc-model": "req/gpt-4.1-nano",
        "x-svc-input-tokens": "1000",
        "x-svc-output-tokens": "500",
        "x-svc-cost-vnd": "230",
        "x-svc-price-vnd-per-request": "230",
      });
    });

    t.test("of a translated call", async (t) => {
      const body = bodies.chat(directive, { model: "claude-opus-5-5" });
      const answer = await post(gateway, paths.chat, customer, body);
      t.equal(answer.headers.get("x-svc-model"), "claude-opus-5-5");
      t.equal(answer.headers.get("x-svc-cost-vnd"), "54");
    });

    t.test("of every endpoint include the cost if the call succeeds", async (t) => {
      for (const [path, body] of CALLS) {
        const { status, headers } = await post(gateway, path, customer, body);
        t.equal(status, 200);
        t.match(headers.get("x-svc-cost-vnd") ?? "", /^\d+(\.\d{1,6})?$/, path);
        t.ok(headers.get("x-svc-model"));
      }
    });

    t.test("of a stream have no tokens and no cost, which are not known yet", async (t) => {
      for (const [path, body] of [
        [paths.messages, bodies.messages(directive, { stream: true, model: "opus" })],
        [paths.chat, bodies.chat(directive, { stream: true, model: "opus" })],
        [paths.responses, bodies.responses(directive, { stream: true, model: "opus" })],
      ] as const) {
        const answer = await post(gateway, path, customer, body);
        t.equal(answer.status, 200);
        t.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
        t.strictSame(own(answer.headers), {
          "x-svc-model": "claude-opus-5-5",
          "x-svc-model-mapped-from": "opus",
          "x-svc-price-vnd-per-mtok": "36000",
        });
      }
    });

    t.test("x-request-id is on every response, and is unique", async (t) => {
      const ids = new Set<string | null>();
      const answers = [
        await get(gateway, "/healthz", undefined),
        await get(gateway, "/readyz", undefined),
        await get(gateway, "/nothing", undefined),
        await get(gateway, paths.chat, undefined),
        await get(gateway, "/v1/models", undefined),
        await get(gateway, "/v1/models", customer),
        await get(gateway, "/v1/models/none", customer),
        await get(gateway, "/admin/v1/accounts", undefined),
        await post(gateway, "/v1/messages/count_tokens", customer, bodies.messages()),
        await post(gateway, paths.chat, customer, bodies.chat({}, { stream: true })),
        await post(gateway, paths.chat, customer, bodies.chat({ status: 400 })),
        await post(gateway, paths.chat, customer, bodies.chat({ status: 500 })),
      ];
      for (const [path, body] of CALLS) {
        answers.push(await post(gateway, path, customer, body));
        answers.push(await post(gateway, path, customer, "{"));
        answers.push(await post(gateway, path, undefined, body));
      }
      for (const { headers } of answers) ids.add(headers.get("x-request-id"));
      t.equal(ids.size, answers.length);
      t.ok(!ids.has(null));
    });
  });

  t.test("endpoints", async (t) => {
    for (const [model, own, right] of [
      ["req/gpt-image-2", /images/, /use \/v1\/images\/generations or \/v1\/images\/edits/],
      ["req/gpt-4o-mini-tts", /speech/, /use \/v1\/audio\/speech/],
      ["opus", /messages|chat|responses/, /use \/v1\/messages or \/v1\/chat\/completions/],
    ] as const) {
      t.test(`${model} is refused on others, with the right one in the message`, async () => {
        for (const [path, body] of CALLS) {
          if (own.test(path)) continue;
          const answer = await post(gateway, path, customer, { ...body, model });
          const isMessages = path === paths.messages;
          const detail = { param: "model" };
          assertError(answer, 400, "invalid_request_error", right, detail, isMessages);
        }
      });
    }

    t.test("/v1/messages/count_tokens is free and returns input_tokens alone", async (t) => {
      const own = await customerWith(gateway);
      const { max_tokens: _, ...body } = bodies.messages();
      const answer = await post(gateway, "/v1/messages/count_tokens", own, body);
      t.equal(answer.status, 200, answer.text);
      t.strictSame(Object.keys(answer.json), ["input_tokens"]);
      t.ok(answer.json.input_tokens > 0);
      await assertNotCharged(gateway, own);
    });
  });
});
