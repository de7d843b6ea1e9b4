import { ObjectScanner } from "../arguments.ts";

/** A tool call of a Chat stream while it comes in. */
export class StreamedCall {
  readonly index: number | undefined;
  /** The upstream's own id, empty until it is known. */
  id: string;
  /** Empty until it is known. */
  name = "";
  /** Where its block is: not begun, in the queue, being written, or written. */
  state: "waiting" | "queued" | "open" | "closed" = "waiting";
  readonly scanner = new ObjectScanner();
  /** Arguments that came before the block could be written. */
  pending: string[] = [];
  hasArguments = false;

  constructor(index: number | undefined, id: string) {
    this.index = index;
    this.id = id;
  }

  /** A block cannot begin without a name; an id may still be made up, but only once there is no waiting. */
  get ready(): boolean {
    return this.name !== "" && (this.id !== "" || this.hasArguments);
  }
}

/** More calls than any model makes in one answer; each costs memory until the stream ends. */
const CALLS_MAX = 16_384;

/** Tells which call a delta belongs to. */
export class StreamedCalls {
  private readonly calls: StreamedCall[] = [];
  private readonly byIndex = new Map<number, StreamedCall>();
  private readonly byId = new Map<string, StreamedCall>();

  /**
   * The call that a delta with this `index`, `id` and `name` belongs to, the latter two empty where it has
   * none; a new call if need be. Undefined when there are too many.
   */
  find(index: unknown, id: string, name: string): StreamedCall | undefined {
    const known = typeof index === "number" ? this.atIndex(index, id) : this.withoutIndex(id, name);
    const call = known ?? this.create(typeof index === "number" ? index : undefined, id);
    if (call === undefined) return undefined;
    if (call.id === "" && id !== "") call.id = id;
    if (id !== "") this.byId.set(id, call);
    if (typeof index === "number") this.byIndex.set(index, call);
    return call;
  }

  /** The one call of the form that knew no ids and no indexes. */
  legacy(): StreamedCall | undefined {
    return this.find(-1, "", "");
  }

  /** Calls that have a name but had to wait for more, in the order they came. */
  waiting(): StreamedCall[] {
    return this.calls.filter((call) => call.state === "waiting" && call.name !== "");
  }

  /** Servers that give every call the index 0 tell them apart by id. */
  private atIndex(index: number, id: string): StreamedCall | undefined {
    const current = this.byIndex.get(index);
    if (current === undefined || id === "" || current.id === "" || current.id === id) {
      return current;
    }
    const earlier = this.byId.get(id);
    return earlier?.index === index ? earlier : undefined;
  }

  private withoutIndex(id: string, name: string): StreamedCall | undefined {
    if (id !== "") return this.byId.get(id);
    const latest = this.calls.at(-1);
    // Servers without ids send each call whole: a name behind a whole call can only begin the next one.
    return name !== "" && latest?.scanner.complete ? undefined : latest;
  }

  private create(index: number | undefined, id: string): StreamedCall | undefined {
    if (this.calls.length >= CALLS_MAX) return undefined;
    const call = new StreamedCall(index, id);
    this.calls.push(call);
    return call;
  }
}
