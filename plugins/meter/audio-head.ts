import { contentTypeOf, type Sink } from "../../core/plugin/index.ts";

/** Calls `onAudio` before the head of audio, which leaves before the call is closed. Its tokens are not counted. */
export class AudioHead implements Sink {
  constructor(
    private readonly client: Sink,
    private readonly onAudio: () => void,
  ) {}

  head(status: number, headers: readonly string[]): void {
    const type = contentTypeOf(headers);
    // JSON is an error, and events report their tokens at the end, as every stream does.
    const isAudio = !type.includes("json") && !type.startsWith("text/event-stream");
    if (status === 200 && isAudio) this.onAudio();
    this.client.head(status, headers);
  }

  event(...[event]: Parameters<Sink["event"]>): void {
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    this.client.data(bytes);
  }

  end(...[outcome]: Parameters<Sink["end"]>): void {
    this.client.end(outcome);
  }
}
