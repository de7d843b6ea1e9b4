import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { wires } from "../../../core/wire/wires.ts";
import { chatContext } from "../../../plugins/translate/chat/read/request.ts";
import { chatToMessagesResponse } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { messagesToChatResponse } from "../../../plugins/translate/chat/write/response.ts";
import { chatErrorToMessages, messagesErrorToChat } from "../../../plugins/translate/errors.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import type { End } from "../../../plugins/translate/stream.ts";
import { assembleChat, assembleMessages } from "./assemble.ts";
import {
  asksForUsage,
  type Client,
  type FixtureEvent,
  NOW_MS,
  pieces,
  run,
  serialise,
  type WireOptions,
} from "./harness.ts";
import {
  checkChatRequest,
  checkChatStream,
  checkMessagesRequest,
  checkMessagesStream,
} from "./invariants.ts";
import { mismatch } from "./match.ts";
import { translated } from "./requests.ts";

interface Case {
  readonly id: string;
  readonly direction: "messages->chat" | "chat->messages";
  readonly kind: "request" | "response" | "stream";
  readonly note: string;
  readonly ctx?: {
    readonly profile?: Profile;
    readonly request?: JsonObject;
    readonly upstream_status?: number;
    readonly end?: End;
    readonly wire?: WireOptions;
  };
  readonly input: unknown;
  readonly expect: unknown;
}

const file = new URL("../../../../test/plugins/translate/cases.json", import.meta.url);
const cases: readonly Case[] = JSON.parse(readFileSync(file, "utf8"));

t.test("translation cases", async (t) => {
  for (const one of cases) {
    t.test(one.id, async (t) => {
      const before = JSON.stringify(one.input);
      if (one.kind === "request") checkRequest(one);
      else if (one.kind === "response") checkResponse(one);
      else checkStream(one);
      t.equal(JSON.stringify(one.input), before, "the input is not changed");
    });
  }
});

t.test("stream cases give the same result however the upstream's bytes are split", async (t) => {
  for (const one of cases.filter(({ kind }) => kind === "stream")) {
    t.test(one.id, async (t) => {
      const bytes = serialise(fixture(one), one.ctx?.wire);
      const whole = runCase(one, [bytes]).text;
      for (const size of [1, 2, 3, 7, 64]) {
        t.equal(runCase(one, pieces(bytes, size)).text, whole, `pieces of ${size}`);
      }
      for (let at = 1; at < bytes.length; at += 1) {
        const split = runCase(one, [bytes.subarray(0, at), bytes.subarray(at)]).text;
        assert.equal(split, whole, `split at ${at}`);
      }
    });
  }
});

function clientOf(one: Case): Client {
  return one.direction === "messages->chat" ? "messages" : "chat";
}

function checkRequest(one: Case): void {
  const profile = one.ctx?.profile;
  const toChat = clientOf(one) === "messages";
  const result = translated(clientOf(one), one.input, profile);
  if (!result.ok) {
    const { message, param, code } = result.reject;
    const refusal = refuse.badRequest(message, { param, code });
    const body = wires[clientOf(one)].errorBody(refusal, "request id");
    const $reject = { status: refusal.status, body: JSON.parse(body) };
    const wanted = isObject(one.expect) ? one.expect["$reject"] : undefined;
    assert.ok(wanted, `rejected: ${JSON.stringify($reject)}`);
    assertMatches($reject, wanted);
    return;
  }
  const body: JsonObject = result.body;
  assert.ok(isObject(one.expect) && !("$reject" in one.expect), "should be rejected");
  assertMatches(body, one.expect);
  if (toChat) checkChatRequest(body);
  else checkMessagesRequest(body);
}

function checkResponse(one: Case): void {
  const request = one.ctx?.request ?? { model: "gw-model" };
  const profile = one.ctx?.profile;
  const status = one.ctx?.upstream_status ?? 200;
  const reply = ((): { status: number; body: unknown } => {
    if (clientOf(one) === "messages") {
      if (status >= 400) return chatErrorToMessages(status, one.input);
      return chatToMessagesResponse(one.input, messagesContext(request, chatProfile(profile)));
    }
    if (status >= 400) return messagesErrorToChat(status, one.input);
    return messagesToChatResponse(one.input, chatContext(request), NOW_MS);
  })();
  const expected = one.expect;
  if (isObject(expected) && "$status" in expected) {
    assertMatches(reply, { status: expected["$status"], body: expected["$body"] });
  } else {
    assert.equal(reply.status, 200);
    assertMatches(reply.body, expected);
  }
}

function checkStream(one: Case): void {
  const bytes = serialise(fixture(one), one.ctx?.wire);
  const recorder = runCase(one, pieces(bytes, one.ctx?.wire?.split_bytes));
  const side = recorder.clientSide();
  const messages = clientOf(one) === "messages";
  if (messages) checkMessagesStream(side.events);
  else checkChatStream(side.events, asksForUsage(one.ctx?.request));
  const found = messages ? assembleMessages(side) : assembleChat(side);
  assertMatches(found, Array.isArray(one.expect) ? { events: one.expect } : one.expect);
}

function runCase(one: Case, chunks: readonly Buffer[]): ReturnType<typeof run> {
  const request = one.ctx?.request ?? { model: "gw-model", stream: true };
  return run(clientOf(one), request, one.ctx?.profile ?? {}, chunks, one.ctx?.end ?? "eof");
}

function fixture(one: Case): readonly FixtureEvent[] {
  assert.ok(Array.isArray(one.input));
  return one.input;
}

function assertMatches(actual: unknown, expected: unknown): void {
  // The result is sent as JSON, so keys with an undefined value are missing for a client.
  const sent: unknown = JSON.parse(JSON.stringify(actual));
  assert.equal(mismatch(sent, expected), undefined);
}
