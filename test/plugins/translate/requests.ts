import assert from "node:assert/strict";
import type { Test } from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { chatToMessagesRequest } from "../../../plugins/translate/chat/read/request.ts";
import { messagesToChatRequest } from "../../../plugins/translate/chat/write/request.ts";
import { edited } from "../../../plugins/translate/edits/index.ts";
import type { Translated } from "../../../plugins/translate/notes.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { checkChatRequest, checkMessagesRequest } from "./invariants.ts";
import { mismatch } from "./match.ts";

export interface Rule {
  readonly rule: string;
  readonly profile?: Profile;
  /** Fields added to a plain request. */
  readonly given: JsonObject;
  /**
   * The fields that the upstream's body must contain, or the start of the message that rejects the
   * request.
   */
  readonly sent?: JsonObject;
  readonly rejected?: string;
  readonly code?: "unsupported_parameter" | null;
  /** The names reported as dropped, in order. */
  readonly dropped?: readonly string[];
}

const PLAIN_MESSAGES = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "q" }] };
const PLAIN_CHAT = { model: "m", messages: [{ role: "user", content: "q" }] };

/** Runs one test per rule about requests of Messages clients. */
export function messagesRules(t: Test, rules: readonly Rule[]): void {
  for (const rule of rules) {
    t.test(rule.rule, async () => {
      const body = { ...PLAIN_MESSAGES, ...rule.given };
      const result = translated("messages", body, rule.profile);
      check(rule, result, checkChatRequest);
    });
  }
}

/** Runs one test per rule about requests of Chat clients. */
export function chatRules(t: Test, rules: readonly Rule[]): void {
  for (const rule of rules) {
    t.test(rule.rule, async () => {
      const body = { ...PLAIN_CHAT, ...rule.given };
      const result = translated("chat", body, rule.profile);
      check(rule, result, checkMessagesRequest);
    });
  }
}

/** Translates a request between Messages and Chat, as for a model with this profile. */
export function translated(
  client: "messages" | "chat",
  body: unknown,
  profile: Profile = {},
): Translated<JsonObject, unknown> {
  const to = client === "messages" ? "chat" : "messages";
  const made =
    client === "messages"
      ? messagesToChatRequest(body, chatProfile(profile))
      : chatToMessagesRequest(body, profile);
  if (!made.ok) return made;
  const fitted = edited({ ...made.body }, to, profile, client);
  return fitted.ok ? { ...fitted, dropped: [...made.dropped, ...fitted.dropped] } : fitted;
}

function check(
  rule: Rule,
  result: Translated<JsonObject, unknown>,
  invariants: (body: JsonObject) => void,
): void {
  if (rule.rejected !== undefined) {
    assert.ok(!result.ok, "is rejected");
    const { message, code } = result.reject;
    assert.ok(message.startsWith(rule.rejected), message);
    if (rule.code !== undefined) assert.equal(code, rule.code);
    return;
  }
  assert.ok(result.ok, `is accepted: ${JSON.stringify(result)}`);
  const sent = JSON.parse(JSON.stringify(result.body));
  invariants(sent);
  if (rule.sent) assert.equal(mismatch(sent, rule.sent), undefined);
  if (rule.dropped) assert.deepEqual(result.dropped, rule.dropped);
}
