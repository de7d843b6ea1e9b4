import { chatProfile, messagesProfile } from "../../../core/contract/index.ts";
import { chatErrorToMessages } from "../errors.ts";
import type { ClientSide, UpstreamSide } from "../sides.ts";
import { chatToMessagesRequest } from "./read/request.ts";
import { chatToMessagesResponse } from "./read/response.ts";
import { ChatToMessagesStream } from "./read/stream.ts";
import { messagesToChatRequest } from "./write/request.ts";
import { messagesToChatResponse } from "./write/response.ts";
import { MessagesToChatStream } from "./write/stream.ts";

export const chatClient: ClientSide = {
  read(body, profile, isLast, clock) {
    // Only a Messages upstream has rules for sampling and thinking; others have their own.
    const own = isLast ? {} : ({ sampling: "both", thinking: "adaptive" } as const);
    const made = chatToMessagesRequest(body, messagesProfile({ ...profile, ...own }), isLast);
    if (!made.ok) return made;
    const { context } = made;
    return {
      ...made,
      context: {
        reply: (reply) => messagesToChatResponse(reply, context, clock.now()),
        stream: (client) => new MessagesToChatStream(context, client, clock.now()),
      },
    };
  },
};

export const chatUpstream: UpstreamSide = {
  write(messages, { profile, state, client }) {
    const made = messagesToChatRequest(messages, chatProfile(profile), state);
    if (!made.ok) return made;
    const context = { ...made.context, marksRefusals: client !== "messages" };
    const back = {
      reply: (reply: unknown) => chatToMessagesResponse(reply, context),
      stream: (to: ConstructorParameters<typeof ChatToMessagesStream>[1]) =>
        new ChatToMessagesStream(context, to),
    };
    return { ...made, context: { back } };
  },
  error: chatErrorToMessages,
};
