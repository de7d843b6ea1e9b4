import type { Clock } from "../../../../core/contract/index.ts";
import { messagesErrorToChat } from "../../errors.ts";
import type { WayBack } from "../../stream.ts";
import type { ChatContext } from "../read/request.ts";
import { messagesToChatResponse } from "./response.ts";
import { MessagesToChatStream } from "./stream.ts";

/** Continues from Messages to Chat: the client of `way` is a translation. */
export function onToChat(way: WayBack, context: ChatContext, clock: Clock): WayBack {
  return {
    reply(body) {
      const { status, body: messages } = way.reply(body);
      if (status !== 200) return messagesErrorToChat(status, messages);
      return messagesToChatResponse(messages, context, clock.now());
    },
    stream(client) {
      const chat = new MessagesToChatStream(context, client, clock.now());
      return way.stream({
        write() {},
        take: (event) => chat.take(event),
        refuse: (status, body) => chat.fail(messagesErrorToChat(status, body)),
      });
    },
  };
}
