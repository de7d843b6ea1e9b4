import type { ReplyDecoder } from "../../../../core/plugin/upstream-kind.ts";
import { ServerEvent } from "../../../../core/sse/reader.ts";

export const FRAMED_TYPE = "application/x-framed";

const LENGTH_BYTES = 4;
const FRAME_BYTES_MAX = 1_000_000;

/** The JSON of one event after its length in four bytes, the format that `FrameDecoder` reads. */
export function frame(event: { readonly type: string }): Buffer {
  const json = Buffer.from(JSON.stringify(event));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/** A decoder of binary, length-prefixed frames, as in `application/vnd.amazon.eventstream`. */
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

  /** An incomplete frame has no event. */
  end(): void {
    this.rest = Buffer.alloc(0);
  }
}

function eventOf(json: string): ServerEvent {
  const { type } = JSON.parse(json) as { type: string };
  return new ServerEvent(Buffer.from(`event: ${type}\ndata: ${json}\n\n`));
}
