import type { Clock } from "../../../../core/contract/index.ts";
import { messagesErrorToChat } from "../../errors.ts";
import type { WayBack } from "../../stream.ts";
import type { ResponsesContext } from "../read/request.ts";
import { messagesToResponse } from "./response.ts";
import { MessagesToResponsesStream } from "./stream.ts";

/** Goes on from Messages to Responses: the client of `way` is a translation. */
export function onToResponses(way: WayBack, context: ResponsesContext, clock: Clock): WayBack {
  return {
    reply(body) {
      const { status, body: messages } = way.reply(body);
      if (status !== 200) return messagesErrorToChat(status, messages);
      return messagesToResponse(messages, context, clock.now());
    },
    stream(client) {
      const responses = new MessagesToResponsesStream(context, client, clock.now());
      return way.stream({
        write() {},
        take: (event) => responses.take(event),
        refuse: (status, body) => responses.fail(messagesErrorToChat(status, body)),
      });
    },
  };
}
