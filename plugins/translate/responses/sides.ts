import { messagesProfile, objectOf } from "../../../core/contract/index.ts";
import { chatErrorToMessages } from "../errors.ts";
import type { ClientSide, UpstreamSide } from "../sides.ts";
import { responsesToMessages } from "./read/reply.ts";
import { responsesToMessagesRequest } from "./read/request.ts";
import { ResponsesToMessagesStream } from "./read/stream.ts";
import { withChatFields } from "./write/from-chat.ts";
import { asksForReasoning, messagesToResponsesRequest } from "./write/request.ts";
import { messagesToResponse } from "./write/response.ts";
import { MessagesToResponsesStream } from "./write/stream.ts";

export const responsesClient: ClientSide = {
  read(body, profile, isLast, clock) {
    const made = responsesToMessagesRequest(body, messagesProfile(profile), isLast);
    if (!made.ok) return made;
    const { context } = made;
    return {
      ...made,
      context: {
        reply: (reply) => messagesToResponse(reply, context, clock.now()),
        stream: (client) => new MessagesToResponsesStream(context, client, clock.now()),
      },
    };
  },
};

export const responsesUpstream: UpstreamSide = {
  write(messages, { profile, state, client, body }) {
    const isShown = asksForReasoning(objectOf(body["thinking"]));
    const made = messagesToResponsesRequest(messages, profile, isShown, state);
    if (!made.ok) return made;
    const context = { ...made.context, marksRefusals: client !== "messages" };
    const back = {
      reply: (reply: unknown) => responsesToMessages(reply, context),
      stream: (to: ConstructorParameters<typeof ResponsesToMessagesStream>[1]) =>
        new ResponsesToMessagesStream(context, to),
    };
    if (client !== "chat") return { ...made, context: { back } };
    const { body: request, names } = withChatFields({ ...made.body }, body);
    return { ...made, body: request, context: { back, kept: names } };
  },
  // OpenAI names the errors of both protocols alike.
  error: chatErrorToMessages,
};
