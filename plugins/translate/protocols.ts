import type { Protocol } from "../../core/plugin/index.ts";
import { chatClient, chatUpstream } from "./chat/sides.ts";
import { editChat } from "./edits/chat.ts";
import type { Draft } from "./edits/draft.ts";
import { editMessages } from "./edits/messages.ts";
import { editResponses } from "./edits/responses.ts";
import { responsesClient, responsesUpstream } from "./responses/sides.ts";
import type { ClientSide, UpstreamSide } from "./sides.ts";

/** A protocol that is translated. Messages has no sides: it is the form in the middle. */
interface Translatable {
  /** The path of its calls, relative to the base address of an upstream. */
  readonly path: string;
  readonly client?: ClientSide;
  readonly upstream?: UpstreamSide;
  /** Edits a request to the form that its model accepts, by the profile. */
  edit(draft: Draft): void;
  /** The client's names of the fields that a translation renames. */
  readonly names: Readonly<Record<string, string>>;
}

/** To add a protocol, write its folder and add it here. Undefined for images and speech. */
export const PROTOCOLS: Readonly<Partial<Record<Protocol, Translatable>>> = {
  messages: {
    path: "/v1/messages",
    edit: editMessages,
    names: {
      ...{ stop: "stop_sequences", reasoning_effort: "output_config.effort" },
      ...{ reasoning: "thinking", response_format: "output_config.format" },
    },
  },
  chat: {
    path: "/chat/completions",
    client: chatClient,
    upstream: chatUpstream,
    edit: editChat,
    names: {
      ...{ thinking: "reasoning_effort", "output_config.effort": "reasoning_effort" },
      ...{ reasoning: "reasoning_effort" },
    },
  },
  responses: {
    path: "/responses",
    client: responsesClient,
    upstream: responsesUpstream,
    edit: editResponses,
    names: {
      ...{ messages: "input", thinking: "reasoning", stop: "stop", reasoning_effort: "reasoning" },
      ...{ "output_config.effort": "reasoning.effort", response_format: "text.format" },
    },
  },
};
