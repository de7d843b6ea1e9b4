import { ServerEvent } from "../../../../core/sse/reader.ts";
import type { ReplyDecoder } from "../../../../core/upstream/kinds/kind.ts";

export const FRAMED_TYPE = "application/x-framed";

const LENGTH_BYTES = 4;
const FRAME_BYTES_MAX = 1_000_000;

/** One event as `FrameDecoder` reads it: the length of what follows, four bytes, then the JSON of the event. */
export function frame(event: { readonly type: string }): Buffer {
  const json = Buffer.from(JSON.stringify(event));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/** A binary stream of length-prefixed frames, as `application/vnd.amazon.eventstream` is one. */
export class FrameDecoder implements ReplyDecoder {
  private rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer, onEvent: (event: ServerEvent) => void): boolean {
    this.rest = Buffer.concat([this.rest, chunk]);
    for (;;) {
      if (this.rest.length < LENGTH_BYTES) return true;
      const end = LENGTH_BYTES + this.rest.readUInt32BE();
      if (end > FRAME_BYTES_MAX) return false;
      if (this.rest.length < end) return true;
      onEvent(eventOf(this.rest.toString("utf8", LENGTH_BYTES, end)));
      this.rest = this.rest.subarray(end);
    }
  }

  /** A frame that is cut off holds nothing. */
  end(): void {
    this.rest = Buffer.alloc(0);
  }
}

function eventOf(json: string): ServerEvent {
  const { type } = JSON.parse(json) as { type: string };
  return new ServerEvent(Buffer.from(`event: ${type}\ndata: ${json}\n\n`));
}
