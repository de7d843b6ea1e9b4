import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { admin } from "../support/admin.ts";
import { assertNotCharged, customerWith } from "../support/billed.ts";
import { suspend } from "../support/ledger-sql.ts";
import "../support/patient-fetch.ts";
import type { Directive } from "../support/provider/directive.ts";
import { bodies } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** Models of the other protocol than the one that these clients speak. */
const TRANSLATED = { messages: "gpt-4.1-nano", chat: "claude-opus-5-5" };

interface Clients {
  readonly anthropic: Anthropic;
  readonly openai: OpenAI;
}
type Send = (clients: Clients, directive: Directive, stream: boolean) => Promise<unknown>;

/** Calls of both SDKs for text. */
const CHATS = {
  messages: ({ anthropic }, directive, stream) =>
    anthropic.messages.create({ ...bodies.messages(directive), stream }),
  "messages, translated": ({ anthropic }, directive, stream) =>
    anthropic.messages.create({
      ...bodies.messages(directive, { model: TRANSLATED.messages }),
      stream,
    }),
  chat: ({ openai }, directive, stream) =>
    openai.chat.completions.create({ ...bodies.chat(directive), stream }),
  "chat, translated": ({ openai }, directive, stream) =>
    openai.chat.completions.create({
      ...bodies.chat(directive, { model: TRANSLATED.chat }),
      stream,
    }),
} as const satisfies Readonly<Record<string, Send>>;
/** Calls of their other endpoints. */
const OTHERS = {
  responses: ({ openai }, directive, stream) =>
    openai.responses.create({ ...bodies.responses(directive), stream }),
  images: ({ openai }, directive) => openai.images.generate(bodies.images(directive)),
  speech: ({ openai }, directive) => openai.audio.speech.create(bodies.speech(directive)),
} as const satisfies Readonly<Record<string, Send>>;

/** An error of a provider, and the beginnings of what the two SDKs make of it: class, status, type and code. */
interface Row {
  readonly what: string;
  readonly directive: Directive;
  readonly anthropic: string;
  readonly openai: string;
  /** Words of the message. */
  readonly says?: RegExp;
  /** The calls that it is tried with; default: all chats, unstreamed and streamed. */
  readonly of?: readonly (keyof typeof CHATS)[];
  readonly streams?: readonly boolean[];
}

const OURS = "InternalServerError 502 api_error";
const INVALID = "BadRequestError 400 invalid_request_error";
const BUSY = {
  anthropic: "OverloadedError 529 overloaded_error",
  openai: "InternalServerError 503 overloaded_error overloaded",
};
const TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum";
const STREAMED = { streams: [true] };

const FREE: readonly Row[] = [
  { what: "a refusal", directive: { status: 400 }, anthropic: INVALID, openai: INVALID },
  {
    what: "a refusal with a status that the client's protocol lacks",
    directive: { status: 422 },
    anthropic: INVALID,
    openai: INVALID,
    of: ["messages, translated", "chat, translated"],
  },
  // The gateway chose the model's name, so the customer is not at fault.
  { what: "an unknown model", directive: { status: 404 }, anthropic: OURS, openai: OURS },
  {
    what: "a request that is too large",
    directive: { status: 413 },
    anthropic: "ContentTooLargeError 413 request_too_large",
    openai: "APIError 413 invalid_request_error",
  },
  {
    what: "a conversation that is too long, with the words and the code that agents look for",
    directive: { status: 400, error: { type: "invalid_request_error", message: TOO_LONG } },
    anthropic: INVALID,
    openai: `${INVALID} context_length_exceeded`,
    says: /prompt is too long/,
  },
  {
    what: "a conversation that is too long, in other words",
    directive: {
      status: 400,
      error: {
        code: "context_length_exceeded",
        message: "This model's maximum context length is 1000 tokens.",
      },
    },
    anthropic: INVALID,
    openai: INVALID,
    says: /prompt is too long: \d+ tokens > \d+ maximum; This model's maximum/,
    of: ["messages, translated"],
  },
  {
    what: "a rate limit, with the provider's retry-after",
    directive: { status: 429, retry_after: 7 },
    anthropic: "RateLimitError 429 rate_limit_error 7s",
    openai: "RateLimitError 429 rate_limit_error rate_limit_exceeded 7s",
  },
  { what: "a failure", directive: { status: 500 }, anthropic: OURS, openai: OURS },
  { what: "an outage", directive: { status: 503 }, ...BUSY },
  { what: "an overload", directive: { status: 529 }, ...BUSY },
  {
    what: "an overload as the first event of a stream",
    directive: {
      error_after_events: 0,
      error: { type: "overloaded_error", message: "Overloaded" },
    },
    ...BUSY,
    ...STREAMED,
  },
];
const CHARGED: readonly Row[] = (["cut_after_events", "end_after_events"] as const).map(
  (fault) => ({
    what: `a stream that breaks off (${fault})`,
    directive: { output_tokens: 50, [fault]: 6 },
    anthropic: "APIError undefined api_error",
    openai: "APIError undefined",
    ...STREAMED,
  }),
);

/** States of the caller, in which no call reaches a provider. */
const CALLERS: readonly [state: string, anthropic: string, openai?: string][] = [
  ["a wrong key", "AuthenticationError 401 authentication_error"],
  ["a revoked key", "AuthenticationError 401 authentication_error"],
  ["an empty wallet", "PaymentRequiredError 402 insufficient", "APIError 402 insufficient"],
  ["a suspended account", "PermissionDeniedError 403 permission_error"],
];

t.test("errors arrive as the classes of the official clients", async (t) => {
  const gateway = await sharedGateway();

  const clientsOf = (apiKey: string): Clients => ({
    anthropic: new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 }),
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }),
  });

  /** The key of a caller in this state. */
  async function keyOf(state: string): Promise<string> {
    const customer = await customerWith(gateway, state === "an empty wallet" ? "0.000001" : "1000");
    if (state === "a revoked key") await admin(gateway, "POST", `/keys/${customer.keyId}/revoke`);
    if (state === "a suspended account") await suspend(gateway, customer.accountId);
    return state === "a wrong key" ? "tg-wrong" : customer.key;
  }

  for (const row of [...FREE, ...CHARGED]) {
    t.test(row.what, async () => {
      const customer = await customerWith(gateway);
      const clients = clientsOf(customer.key);
      const { of = Object.keys(CHATS) as (keyof typeof CHATS)[], streams = [false, true] } = row;
      for (const name of of) {
        for (const stream of streams) {
          const got = await errorOf(CHATS[name](clients, row.directive, stream));
          const expected = name.startsWith("messages") ? row.anthropic : row.openai;
          assert.ok(got.text.startsWith(expected), `${name}: ${got.text}`);
          assert.match(got.message, row.says ?? /.{10}/);
        }
      }
      if (FREE.includes(row)) await assertNotCharged(gateway, customer);
    });
  }

  t.test("a request that cannot be translated, before anything goes upstream", async () => {
    const { anthropic, openai } = clientsOf((await customerWith(gateway)).key);
    const before = await gateway.simulator.stats();
    const container = bodies.messages({}, { model: TRANSLATED.messages, container: "c" });
    assert.ok((await errorOf(anthropic.messages.create(container))).text.startsWith(INVALID));
    const two = bodies.chat({}, { model: TRANSLATED.chat, n: 2 });
    const { text } = await errorOf(openai.chat.completions.create(two));
    assert.ok(text.startsWith(`${INVALID} unsupported_parameter`), text);
    assert.deepEqual(await gateway.simulator.stats(), before);
  });

  t.test("a stream of Responses that breaks off, translated or not", async () => {
    const { openai } = clientsOf((await customerWith(gateway)).key);
    const directive = { output_tokens: 50, end_after_events: 6 };
    for (const model of ["gpt-4.1-nano", "claude-opus-5-5", "glm-5.2"]) {
      const body = bodies.responses(directive, { model });
      const got = await errorOf(openai.responses.create({ ...body, stream: true }));
      assert.match(got.text, /^APIError undefined (api|server)_error/, model);
      assert.match(got.message, /ended before completion/, model);
    }
  });

  t.test("a provider that fails, on every endpoint", async () => {
    const { key } = await customerWith(gateway);
    for (const [name, send] of Object.entries(OTHERS)) {
      const { text } = await errorOf(send(clientsOf(key), { status: 500 }, false));
      assert.ok(text.startsWith(OURS), `${name}: ${text}`);
    }
  });

  for (const [state, anthropic, openai = anthropic] of CALLERS) {
    t.test(`${state}, on every endpoint`, async () => {
      const clients = clientsOf(await keyOf(state));
      for (const [name, send] of Object.entries({ ...CHATS, ...OTHERS })) {
        const { text } = await errorOf(send(clients, {}, name === "chat"));
        const expected = name.startsWith("messages") ? anthropic : openai;
        assert.ok(text.startsWith(expected), `${name}: ${text}`);
      }
    });
  }
});

/** Returns the class, status, type, code and retry-after of the error with which a call, or its stream, ends. */
async function errorOf(call: Promise<unknown>): Promise<{ text: string; message: string }> {
  try {
    const reply = await call;
    if (isStream(reply)) for await (const _ of reply);
  } catch (error) {
    const isOpenAi = error instanceof OpenAI.APIError;
    assert.ok(isOpenAi || error instanceof Anthropic.APIError, String(error));
    const body = error.error as { error?: { type?: string } } | undefined;
    const type = isOpenAi ? error.type : body?.error?.type;
    const words = [error.constructor.name, String(error.status), type];
    if (isOpenAi && error.code) words.push(error.code);
    const wait = error.headers?.get("retry-after");
    if (wait) words.push(`${wait}s`);
    return { text: words.join(" "), message: error.message };
  }
  assert.fail("no error");
}

function isStream(reply: unknown): reply is AsyncIterable<unknown> {
  return typeof reply === "object" && reply !== null && Symbol.asyncIterator in reply;
}
