import { isObject, type JsonObject, objectOf, parseJson } from "../../../core/plugin/index.ts";
import { brokenForMessages, MALFORMED, TRUNCATED } from "../errors.ts";
import type { ClientStream, StreamTranslator, UpstreamEvent, WayBack } from "../stream.ts";

/** The way of an upstream that speaks Messages itself. */
export const MESSAGES: WayBack = {
  reply: (body) => ({ status: 200, body: objectOf(body) ?? {} }),
  stream: (client) => new PassedMessages(client),
};

class PassedMessages implements StreamTranslator {
  private started = false;
  private over = false;

  constructor(private readonly client: ClientStream) {}

  event({ data }: UpstreamEvent): void {
    if (this.over || data === "" || data.startsWith("[DONE]")) return;
    const event = parseJson(data);
    if (isObject(event)) this.take(event);
    else if (event === undefined) this.fail(MALFORMED);
  }

  end(): void {
    if (!this.over) this.fail(TRUNCATED);
  }

  private take(event: JsonObject): void {
    this.started = true;
    this.over = event["type"] === "message_stop" || event["type"] === "error";
    this.client.take?.(event);
  }

  private fail(message: string): void {
    const { status, body } = brokenForMessages(message);
    if (this.started) this.take(body);
    else this.client.refuse(status, body);
    this.over = true;
  }
}
