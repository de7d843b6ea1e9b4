import t from "tap";
import { type Customer, usage } from "../support/admin.ts";
import { customerWith } from "../support/billed.ts";
import { setRateLimit } from "../support/ledger-sql.ts";
import { type Answer, bodies, get, openStream, paths, post, reload } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

t.test("the table of limits", async (t) => {
  const gateway = await sharedGateway();
  const customer = await customerWith(gateway);

  t.test("calls per minute and key", async (t) => {
    const call = (caller: Customer, more?: object) =>
      post(gateway, paths.chat, caller, bodies.chat({ text: "ok" }, more));
    const rateHeaders = ({ headers }: Answer) =>
      [...headers].map(([name]) => name).filter((name) => name.startsWith("x-ratelimit-"));

    t.test("0, as published: no limit, and no header mentions one", async (t) => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => call(customer)));
      t.ok(answers.every(({ status }) => status === 200));
      t.strictSame(answers.flatMap(rateHeaders), []);
    });

    t.test("above 0", async (t) => {
      t.before(() => reload(gateway, { plugins: { "rate-limit": { requests_per_minute: 3 } } }));
      t.teardown(() => reload(gateway, {}));

      t.test(
        "429 rate_limit_error beyond it, with retry-after, in each protocol's shape",
        async (t) => {
          const own = await customerWith(gateway);
          for (const remaining of ["2", "1", "0"]) {
            const { status, headers } = await call(own);
            t.equal(status, 200);
            t.equal(headers.get("x-ratelimit-limit-requests"), "3");
            t.equal(headers.get("x-ratelimit-remaining-requests"), remaining);
            t.match(headers.get("x-ratelimit-reset-requests") ?? "", /^\d+\.\d{3}s$/);
          }
          const chat = await call(own);
          t.equal(chat.status, 429);
          t.strictSame(chat.json, {
            error: {
              message:
                "This key is limited to 3 calls a minute; wait for the seconds in retry-after.",
              type: "rate_limit_error",
              param: null,
              code: "rate_limit_exceeded",
            },
          });
          const seconds = Number(chat.headers.get("retry-after"));
          t.ok(seconds >= 1 && seconds <= 20, `${seconds}`);
          t.equal(chat.headers.get("x-ratelimit-remaining-requests"), "0");
          const messages = await post(gateway, paths.messages, own, bodies.messages());
          t.equal(messages.status, 429);
          t.equal(messages.json.type, "error");
          t.equal(messages.json.error.type, "rate_limit_error");
          t.equal((await get(gateway, "/v1/models", own)).status, 429);
        },
      );

      t.test("counts concurrent calls exactly, and streams have the headers too", async (t) => {
        const own = await customerWith(gateway);
        const stream = await call(own, { stream: true });
        t.equal(stream.headers.get("x-ratelimit-remaining-requests"), "2");
        const answers = await Promise.all(Array.from({ length: 20 }, () => call(own)));
        t.equal(answers.filter(({ status }) => status === 200).length, 2);
        t.equal(answers.filter(({ status }) => status === 429).length, 18);
      });

      t.test("a key's own limit takes precedence, and 0 there means no limit", async (t) => {
        const narrow = await customerWith(gateway);
        await setRateLimit(gateway, narrow.keyId, 1);
        t.equal((await call(narrow)).headers.get("x-ratelimit-limit-requests"), "1");
        t.equal((await call(narrow)).status, 429);
        const free = await customerWith(gateway);
        await setRateLimit(gateway, free.keyId, 0);
        for (let calls = 0; calls < 5; calls++) t.equal((await call(free)).status, 200);
      });
    });

    t.test("concurrent calls: one more gets 429, and one that has ended makes room", async (t) => {
      await reload(gateway, { plugins: { "rate-limit": { concurrent_calls: 2 } } });
      const own = await customerWith(gateway);
      const open = async () => {
        const body = bodies.chat(
          { text: "begun", silent_ms: 600_000, silent_after_events: 3 },
          { stream: true },
        );
        const stream = await openStream(gateway, paths.chat, own, body);
        await stream.until((text) => text.includes("data: "));
        return stream;
      };
      const streams = [await open(), await open()];
      const refused = await call(own);
      t.equal(refused.status, 429);
      t.equal(refused.headers.get("retry-after"), "1");
      t.match(refused.json.error.message, /limited to 2 calls at once/);
      streams.pop()?.leave();
      await until("there is room", async () => {
        const { status } = await call(own);
        t.ok(status === 200 || status === 429);
        return status === 200;
      });
      streams.pop()?.leave();
      await reload(gateway, {});
    });
  });

  t.test("images as input", async (t) => {
    const bytes = { png: "iVBORw0KGgo=", jpeg: "/9j/", webp: "UklGRgAAAABXRUJQ", gif: "R0lGODlh" };
    const image = (media_type: string, data: string) => ({
      type: "image",
      source: { type: "base64", media_type, data },
    });
    const url = (address: string) => ({ type: "image_url", image_url: { url: address } });
    const ask = (model: string, part: object) => {
      const isMessages = "source" in part;
      const body = isMessages ? bodies.messages({}, { model }) : bodies.chat({}, { model });
      const messages = [{ role: "user", content: [{ type: "text", text: "what?" }, part] }];
      return post(gateway, isMessages ? paths.messages : paths.chat, customer, {
        ...body,
        messages,
      });
    };

    t.test(
      "PNG, JPEG, WebP and GIF are accepted, as base64 and as data URLs, for models of either protocol",
      async (t) => {
        for (const [format, data] of Object.entries(bytes)) {
          for (const model of ["claude-opus-5-5", "gpt-4.1-nano"]) {
            for (const part of [
              image(`image/${format}`, data),
              url(`data:image/${format};base64,${data}`),
            ]) {
              const answer = await ask(model, part);
              t.equal(answer.status, 200, `${format} ${model} ${answer.text}`);
            }
          }
        }
      },
    );

    t.test("images by address are accepted", async (t) => {
      const answer = await ask("gpt-4.1-nano", url("https://images.example/a.png"));
      t.equal(answer.status, 200, answer.text);
    });

    t.test("other formats get 400 with the accepted formats", async (t) => {
      for (const part of [
        image("image/bmp", "Qk0="),
        image("image/svg+xml", "PHN2Zz4="),
        url("data:image/tiff;base64,SUkqAA=="),
        url("data:application/zip;base64,UEsDBA=="),
      ]) {
        const answer = await ask("claude-opus-5-5", part);
        t.equal(answer.status, 400);
        t.equal(answer.json.error.type, "invalid_request_error");
        t.match(answer.json.error.message, /PNG, JPEG, WebP or GIF/);
      }
      const responses = await post(gateway, paths.responses, customer, {
        ...bodies.responses(),
        input: [
          {
            role: "user",
            content: [{ type: "input_image", image_url: "data:image/bmp;base64,Qk0=" }],
          },
        ],
      });
      t.equal(responses.status, 400);
      t.equal(responses.json.error.param, "input");
    });

    t.test("an image that is no base64 gets 400 in the shape of each protocol", async (t) => {
      const broken = "data:image/png;base64,@@@";
      const poor = await customerWith(gateway, 1_000);
      const content = [image("image/png", "@@@")];
      const messages = await post(gateway, paths.messages, poor, {
        ...bodies.messages(),
        messages: [{ role: "user", content }],
      });
      t.match(messages.json, {
        type: "error",
        error: { type: "invalid_request_error", message: "messages: an image is not base64" },
      });
      const chat = await post(gateway, paths.chat, poor, {
        ...bodies.chat(),
        messages: [{ role: "user", content: [url(broken)] }],
      });
      t.match(chat.json.error, { type: "invalid_request_error", param: "messages" });
      const responses = await post(gateway, paths.responses, poor, {
        ...bodies.responses(),
        input: [{ role: "user", content: [{ type: "input_image", image_url: broken }] }],
      });
      t.match(responses.json.error, { type: "invalid_request_error", param: "input" });
      for (const { status } of [messages, chat, responses]) t.equal(status, 400);
      t.strictSame(await usage(gateway, poor.accountId), [], "nothing went upstream");
    });

    t.test(
      "models without the label vision refuse them with 400 before anything is held",
      async (t) => {
        for (const part of [
          image("image/png", bytes.png),
          url(`data:image/png;base64,${bytes.png}`),
          url("https://images.example/a.png"),
        ]) {
          const answer = await ask("deepseek-v4-flash", part);
          t.equal(answer.status, 400);
          t.match(answer.json.error.message, /deepseek-v4-flash cannot read images.*vision/);
        }
        const result = await post(gateway, paths.messages, customer, {
          ...bodies.messages({}, { model: "glm-5.2" }),
          messages: [
            { role: "user", content: "look" },
            {
              role: "assistant",
              content: [{ type: "tool_use", id: "t", name: "look", input: {} }],
            },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "t", content: [image("image/png", bytes.png)] },
              ],
            },
          ],
        });
        // No user chose it, and the agent would send it with each later call.
        t.equal(result.status, 200, "an image in a tool's result does not end the session");
        const responses = await post(gateway, paths.responses, customer, {
          ...bodies.responses({}, { model: "qwen3.7-max" }),
          input: [
            {
              role: "user",
              content: [{ type: "input_image", image_url: "https://images.example/a.png" }],
            },
          ],
        });
        t.equal(responses.status, 400);
      },
    );
  });

  t.test("a head of more than 16 KB is refused, and the gateway goes on", async (t) => {
    const response = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${customer.key}`, "x-long": "a".repeat(20_000) },
    }).catch(() => undefined);
    t.ok(response === undefined || response.status >= 400, `${response?.status}`);
    t.equal((await get(gateway, "/v1/models", customer)).status, 200);
  });
});
