import { objectOf } from "../../../core/plugin/index.ts";
import { chatErrorToMessages } from "../errors.ts";
import type { ClientSide, UpstreamSide } from "../sides.ts";
import { showsReasoning } from "./read/reasoning.ts";
import { type ResponsesContext, responsesToMessagesRequest } from "./read/request.ts";
import { ResponsesToMessagesStream, responsesToMessages } from "./read/stream.ts";
import { withClientFields } from "./write/kept.ts";
import { asksForReasoning, messagesToResponsesRequest } from "./write/request.ts";
import { messagesToResponse } from "./write/response.ts";
import { MessagesToResponsesStream } from "./write/stream.ts";

export const responsesClient: ClientSide = {
  read: responsesToMessagesRequest,
  way: (facts: ResponsesContext, clock) => ({
    reply: (reply) => messagesToResponse(reply, facts, clock.now()),
    stream: (client) => new MessagesToResponsesStream(facts, client, clock.now()),
  }),
};

export const responsesUpstream: UpstreamSide = {
  write(messages, { profile, state, client, body }) {
    const isShown =
      client === "responses" ? showsReasoning(body) : asksForReasoning(objectOf(body["thinking"]));
    const made = messagesToResponsesRequest(messages, profile, isShown, state);
    if (!made.ok) return made;
    const isDirect = client === "messages";
    const { body: request, names: kept } = isDirect
      ? { body: made.body, names: undefined }
      : withClientFields(made.body, client, body);
    const facts = {
      ...made.context,
      ...{ marksRefusals: !isDirect, joinsTexts: client === "chat" },
      isFormatted: request.text?.format !== undefined,
    };
    return { ...made, body: request, context: { facts, ...(kept && { kept }) } };
  },
  way(facts, state) {
    const context = { ...facts, state };
    return {
      reply: (reply) => responsesToMessages(reply, context),
      stream: (to) => new ResponsesToMessagesStream(context, to),
    };
  },
  // OpenAI names the errors of both protocols alike.
  error: chatErrorToMessages,
};
