import { type JsonObject, objectOf, parseJson } from "../process/json.ts";
import type { Wire } from "../wire/wire.ts";
import { type Refused, refusedInBody } from "./fault.ts";

/** The worth of a whole body, as the protocol judges it. */
interface Judged {
  /** Undefined if it is not a JSON object. */
  readonly reply: JsonObject | undefined;
  readonly text: string;
  readonly worth: ReturnType<Wire["judge"]>;
}

/**
 * The body of an unstreamed reply or of a refusal, which is kept until it is whole: until then, another route can serve
 * the call.
 */
export class WholeReply {
  private parts: Buffer[] = [];
  private text = "";
  bytes = 0;

  add(part: Buffer): void {
    this.parts.push(part);
    this.bytes += part.length;
  }

  judge(wire: Wire): Judged {
    this.text = this.read();
    const reply = objectOf(parseJson(this.text));
    return { reply, text: this.text, worth: reply ? wire.judge(reply) : "none" };
  }

  /** Returns the text so far. */
  read(): string {
    const [first] = this.parts;
    const bytes = this.parts.length === 1 && first ? first : Buffer.concat(this.parts);
    return bytes.toString();
  }

  /** Returns the error that the body states, if it states one. */
  error(): Refused | undefined {
    return refusedInBody(this.text);
  }

  /** Gives the parts, once. */
  take(): Buffer[] {
    const { parts } = this;
    this.clear();
    return parts;
  }

  clear(): void {
    this.parts = [];
    this.text = "";
    this.bytes = 0;
  }
}
