import { encodeEvent } from "../../../../core/plugin/index.ts";
import type { ChatDelta, ChatError, ChatUsage, FinishReason } from "../../types.ts";

/**
 * Writes the chunks of one Chat stream. Encodes the constant start and end of a chunk once.
 */
export class ChunkWriter {
  private readonly head: string;
  private readonly tail: string;

  constructor(
    id: string,
    created: number,
    model: string,
    private readonly includeUsage: boolean,
  ) {
    const head = { id, object: "chat.completion.chunk", created, model };
    this.head = `${JSON.stringify(head).slice(0, -1)},"choices":[`;
    // A client that asked for usage gets the field in every chunk, null in all but the last.
    this.tail = includeUsage ? `],"usage":null}` : "]}";
  }

  delta(delta: ChatDelta): string {
    return this.choice(JSON.stringify(delta), "null");
  }

  finish(reason: FinishReason): string {
    return this.choice("{}", `"${reason}"`);
  }

  /**
   * Returns the chunk with usage, which has no choices; empty if the client did not ask for usage.
   */
  usage(usage: ChatUsage): string {
    if (!this.includeUsage) return "";
    return encodeEvent(undefined, `${this.head}],"usage":${JSON.stringify(usage)}}`);
  }

  private choice(delta: string, reason: string): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}`;
    return encodeEvent(undefined, this.head + choice + this.tail);
  }
}

/** The last event of every complete Chat stream. */
export const DONE = encodeEvent(undefined, "[DONE]");

export function errorChunk(error: ChatError): string {
  return encodeEvent(undefined, JSON.stringify(error));
}
