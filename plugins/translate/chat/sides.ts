import { type JsonObject, objectOf, type Profile } from "../../../core/plugin/index.ts";
import { chatErrorToMessages } from "../errors.ts";
import { chatProfile } from "../profile.ts";
import { flatFormat, nestedFormat, restoredFormat } from "../reply-format.ts";
import type { ClientSide, UpstreamSide } from "../sides.ts";
import { type ChatContext, chatContext, chatToMessagesRequest } from "./read/request.ts";
import { ChatToMessagesStream, chatToMessagesResponse } from "./read/stream.ts";
import { type MessagesFacts, messagesContext, messagesToChatRequest } from "./write/request.ts";
import { messagesToChatResponse } from "./write/response.ts";
import { MessagesToChatStream } from "./write/stream.ts";

/** The facts of a request that is not translated, for a reply that goes through Messages. */
export function chatFacts(
  body: JsonObject,
  profile: Profile,
): { readonly client: ChatContext; readonly upstream: MessagesFacts } {
  const facts = messagesContext({ model: body["model"] }, chatProfile(profile));
  return {
    client: chatContext(body),
    upstream: { ...facts, marksRefusals: true },
  };
}

export const chatClient: ClientSide = {
  read: chatToMessagesRequest,
  way: (facts: ChatContext, clock) => ({
    reply: (reply) => messagesToChatResponse(reply, facts, clock.now()),
    stream: (client) => new MessagesToChatStream(facts, client, clock.now()),
  }),
};

export const chatUpstream: UpstreamSide = {
  write(messages, { profile, state, client, body }) {
    const made = messagesToChatRequest(messages, chatProfile(profile), state);
    if (!made.ok) return made;
    const facts = { ...made.context, marksRefusals: client !== "messages" };
    if (client === "messages") return { ...made, context: { facts } };
    const { format, names } = restoredFormat(
      flatFormat(objectOf(made.body.response_format)),
      client,
      body,
    );
    const request = format ? { ...made.body, response_format: nestedFormat(format) } : made.body;
    return { ...made, body: request, context: { facts, kept: new Set(names) } };
  },
  way(facts, state) {
    const context = { ...facts, state };
    return {
      reply: (reply) => chatToMessagesResponse(reply, context),
      stream: (to) => new ChatToMessagesStream(context, to),
    };
  },
  error: chatErrorToMessages,
};
