import { createHash } from "node:crypto";
import { type Call, type Outcome, ServerEvent, type Sink } from "../../../core/plugin/index.ts";

const START = "tgo1.";
const MARK_CHARS = 8;

/** Returns the mark of an organisation at a provider, which does not tell clients its name. */
export function markOf(organisation: string): string {
  const hash = createHash("sha256").update(`organisation\n${organisation}`).digest("base64url");
  return `${START}${hash.slice(0, MARK_CHARS)}.`;
}

/** Returns encrypted state without its mark; undefined if it has that of another organisation. */
export function unmarked(state: string, organisation: string | undefined): string | undefined {
  if (!state.startsWith(START)) return state;
  if (organisation === undefined) return undefined;
  const mark = markOf(organisation);
  return state.startsWith(mark) ? state.slice(mark.length) : undefined;
}

/** A field of state in JSON. Inside of a string its quotes would be escaped. */
const STATE = /"encrypted_content"\s*:\s*"(?!")/g;

/** Marks the encrypted state in a reply of Responses with the organisation that alone can read it. */
export class MarkingSink implements Sink {
  private mark: string | undefined = undefined;
  private readonly parts: Uint8Array[] = [];

  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly organisationOf: (route: Call["route"]) => string | undefined,
  ) {}

  head(status: number, headers: readonly string[]): void {
    const organisation = this.organisationOf(this.call.route);
    this.mark = organisation === undefined ? undefined : markOf(organisation);
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    const { raw, kind } = event;
    const marked = this.marked(raw);
    this.client.event(marked === raw ? event : new ServerEvent(marked, kind));
  }

  data(bytes: Uint8Array): void {
    if (this.mark === undefined) this.client.data(bytes);
    else this.parts.push(bytes);
  }

  end(outcome: Outcome): void {
    if (this.parts.length > 0) this.client.data(this.marked(Buffer.concat(this.parts)));
    this.client.end(outcome);
  }

  private marked(bytes: Uint8Array): Uint8Array {
    const { mark } = this;
    if (mark === undefined) return bytes;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (!buffer.includes(FIELD)) return bytes;
    return Buffer.from(
      buffer.toString("latin1").replace(STATE, (found) => found + mark),
      "latin1",
    );
  }
}

const FIELD = '"encrypted_content"';
