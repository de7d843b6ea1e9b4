import t from "tap";
import { createCustomer, usage, wallet } from "../support/admin.ts";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, get, paths, post, reload, send } from "../support/requests.ts";
import { until } from "../support/until.ts";

/** A chat model of the shipped catalogue without the label `vision`. */
const BLIND = "deepseek-v4-pro";
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const SEES_AN_IMAGE = [
  {
    role: "user",
    content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${IMAGE}` } }],
  },
];
const UNBILLED = { meter: false, settle: false } as const;

let gateway: TestGateway;
t.before(async () => {
  gateway = await startGateway({ plugins: { "rate-limit": { requests_per_minute: 1 } } });
});
t.teardown(() => gateway.close());

t.test("without rate-limit", async (t) => {
  t.test("keys have no limit, though one call a minute was the limit before", async (t) => {
    const customer = await customerWith(gateway);
    const call = () => post(gateway, paths.chat, customer, bodies.chat());
    t.equal((await call()).status, 200);
    t.equal((await call()).status, 429);
    await reload(gateway, { plugins: { "rate-limit": false } });
    for (let round = 0; round < 3; round++) {
      const { status, headers } = await call();
      t.equal(status, 200);
      t.equal(headers.get("x-ratelimit-limit-requests"), null);
    }
  });
});

t.test("without alias", async (t) => {
  t.before(() => reload(gateway, { plugins: { "rate-limit": false, alias: false } }));

  t.test("ids of the catalogue are served and charged as before", async (t) => {
    const customer = await customerWith(gateway);
    const { status, headers } = await post(gateway, paths.messages, customer, bodies.messages());
    t.strictSame([status, headers.get("x-svc-model-mapped-from")], [200, null]);
    const record = await billedCall(gateway, customer);
    t.strictSame([record["model"], record["mapped_from"]], ["claude-opus-5-5", null]);
    t.not(record["cost_vnd"], "0");
  });

  t.test("a chat call is translated as before", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.chat({}, { model: "claude-opus-5-5" });
    t.equal((await post(gateway, paths.chat, customer, body)).status, 200);
  });

  const refusals: readonly (readonly [
    what: string,
    path: string,
    body: object,
    status: number,
    param: string,
  ])[] = [
    ["a family", paths.messages, bodies.messages({}, { model: "opus" }), 404, "model"],
    ["an unknown name", paths.chat, bodies.chat({}, { model: "gpt-9" }), 404, "model"],
    ["an empty name", paths.chat, bodies.chat({}, { model: "" }), 400, "model"],
    ["an image model", paths.chat, bodies.chat({}, { model: "req/gpt-image-2" }), 400, "model"],
    ["a chat model", paths.images, bodies.images({}, { model: "gpt-4.1-nano" }), 400, "model"],
    [
      "an image for a model without vision",
      paths.chat,
      bodies.chat({}, { model: BLIND, messages: SEES_AN_IMAGE }),
      400,
      "messages",
    ],
  ];
  for (const [what, path, body, status, param] of refusals) {
    t.test(`${what} gets ${status}, in its protocol's shape, and costs nothing`, async (t) => {
      const customer = await customerWith(gateway);
      const answer = await post(gateway, path, customer, body);
      t.equal(answer.status, status, answer.text);
      if (path === paths.messages) t.equal(answer.json.type, "error");
      else t.equal(answer.json.error.param, param);
      await assertNotCharged(gateway, customer);
    });
  }

  t.test("tokens are counted for ids of the catalogue only", async (t) => {
    const customer = await customerWith(gateway);
    const path = "/v1/messages/count_tokens";
    const count = (model: string) =>
      post(gateway, path, customer, bodies.messages({}, { model, max_tokens: undefined }));
    t.equal((await count("claude-opus-5-5")).status, 200);
    t.equal((await count("opus")).status, 404);
  });
});

t.test("without translate", async (t) => {
  t.before(() => reload(gateway, { plugins: { "rate-limit": false, translate: false } }));

  t.test(
    "a model is served, also streamed, on its own protocol's endpoint, and charged",
    async (t) => {
      for (const [path, body] of [
        [paths.messages, bodies.messages()],
        [paths.messages, bodies.messages({}, { stream: true })],
        [paths.chat, bodies.chat()],
        [paths.chat, bodies.chat({}, { stream: true })],
        [paths.responses, bodies.responses()],
        [paths.images, bodies.images()],
        [paths.speech, bodies.speech()],
      ] as const) {
        const customer = await customerWith(gateway);
        const answer = await post(gateway, path, customer, body);
        t.equal(answer.status, 200, `${path}: ${answer.text}`);
        t.not((await billedCall(gateway, customer))["cost_vnd"], "0", path);
      }
    },
  );

  t.test(
    "a model of another protocol gets 400, with the field and the endpoint that serves it",
    async (t) => {
      const customer = await customerWith(gateway);
      const chat = await post(
        gateway,
        paths.chat,
        customer,
        bodies.chat({}, { model: "claude-opus-5-5" }),
      );
      t.equal(chat.status, 400);
      t.equal(chat.json.error.param, "model");
      t.equal(
        chat.json.error.message,
        "model: claude-opus-5-5 is not served on /v1/chat/completions: use /v1/messages",
      );
      const messages = await post(
        gateway,
        paths.messages,
        customer,
        bodies.messages({}, { model: "gpt-4.1-nano" }),
      );
      t.strictSame([messages.status, messages.json.type], [400, "error"]);
      t.match(messages.json.error.message, /^model: .* use \/v1\/chat\/completions$/);
      const responses = await post(
        gateway,
        paths.responses,
        customer,
        bodies.responses({}, { model: "claude-opus-5-5" }),
      );
      t.equal(responses.status, 400);
      t.match(responses.json.error.message, /is not served on \/v1\/responses: use one of gpt-/);
    },
  );

  t.test("an image edit is accepted in the provider's own form only", async (t) => {
    const customer = await customerWith(gateway);
    const json = await post(gateway, paths.edits, customer, bodies.images({}, { image: IMAGE }));
    t.strictSame([json.status, json.json.error.param], [400, "image"]);
    const form = new FormData();
    form.set("model", "req/gpt-image-2");
    form.set("prompt", "a hat");
    form.set("image", new Blob([Buffer.from(IMAGE, "base64")], { type: "image/png" }), "a.png");
    const authorization = `Bearer ${customer.key}`;
    const init = { method: "POST", headers: { authorization }, body: form };
    const answer = await send(gateway, paths.edits, init);
    t.equal(answer.status, 200, answer.text);
    t.equal((await billedCall(gateway, customer))["cost_vnd"], "1000");
  });

  t.test("without alias as well, ids of models are served in their own protocol", async (t) => {
    const customer = await customerWith(gateway);
    await reload(gateway, { plugins: { "rate-limit": false, translate: false, alias: false } });
    t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 200);
    const other = bodies.chat({}, { model: "claude-opus-5-5" });
    t.equal((await post(gateway, paths.chat, customer, other)).status, 400);
  });
});

t.test("with unbilled: true, and without meter and settle", async (t) => {
  const changes = {
    config: { unbilled: true },
    plugins: { "rate-limit": false, ...UNBILLED },
  } as const;
  t.before(() => reload(gateway, changes));

  t.test(
    "a key without money is served on every endpoint, also streamed; nothing is held, charged or recorded",
    async (t) => {
      const customer = await createCustomer(gateway);
      for (const [path, body] of [
        [paths.messages, bodies.messages()],
        [paths.messages, bodies.messages({}, { stream: true })],
        [paths.chat, bodies.chat({}, { stream: true })],
        [paths.chat, bodies.chat({}, { model: "claude-opus-5-5", stream: true })],
        [paths.responses, bodies.responses()],
        [paths.images, bodies.images()],
        [paths.edits, bodies.images({}, { image: IMAGE })],
        [paths.speech, bodies.speech()],
      ] as const) {
        const { status, headers, text } = await post(gateway, path, customer, body);
        t.equal(status, 200, `${path}: ${text}`);
        t.equal(headers.get("x-svc-cost-vnd"), null);
      }
      t.strictSame(await wallet(gateway, customer.accountId), {
        balance: "0",
        held: "0",
        available: "0",
        pending: "0",
      });
      t.strictSame(await usage(gateway, customer.accountId), []);
    },
  );

  t.test("a call without a key is still refused", async (t) => {
    t.equal((await post(gateway, paths.chat, undefined, bodies.chat())).status, 401);
  });

  t.test("/readyz and the log warn of it, at each start and reload", async (t) => {
    t.equal((await get(gateway, "/readyz", undefined)).json.unbilled, true);
    const warnings = () => gateway.logs.match(/"level":40.*neither held nor charged/g)?.length ?? 0;
    await until("the reload logs a warning", () => warnings() > 0);
    const before = warnings();
    gateway.configure(changes);
    await gateway.stop();
    await gateway.start();
    await until("the start logs a warning", () => warnings() > before);
  });

  t.test("without auth as well, on loopback, callers need no key", async (t) => {
    const withoutKeys = { auth: false, "by-key": false };
    await reload(gateway, { ...changes, plugins: { ...changes.plugins, ...withoutKeys } });
    t.equal((await post(gateway, paths.chat, undefined, bodies.chat())).status, 200);
    t.equal((await get(gateway, "/v1/models", undefined)).status, 200);
  });

  t.test("and calls are charged again once they are back", async (t) => {
    await reload(gateway, { plugins: { "rate-limit": false } });
    t.equal((await get(gateway, "/readyz", undefined)).json.unbilled, undefined);
    const poor = await createCustomer(gateway);
    t.equal((await post(gateway, paths.chat, poor, bodies.chat())).status, 402);
  });
});
