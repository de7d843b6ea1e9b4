import { isBlank, ObjectScanner, TwiceEncoded } from "../arguments.ts";

/** A tool call of a Chat stream that is still arriving. */
export class StreamedCall {
  /** The name; empty until it is known. */
  name = "";
  /** State of its block: not started, in the queue, being written, or written. */
  state: "waiting" | "queued" | "open" | "closed" = "waiting";
  readonly scanner = new ObjectScanner();
  readonly encoded = new TwiceEncoded();
  /** Arguments that arrived before the block could start. */
  pending: string[] = [];
  hasArguments = false;
  /** The maker's state that belongs to the call; empty if it has none. */
  signature = "";

  constructor(
    readonly index: number | undefined,
    /** The upstream's own id, empty until it is known. */
    public id: string,
  ) {}

  /**
   * True if the block can start. It needs a name; a missing id is made up once arguments arrive.
   */
  get ready(): boolean {
    return this.name !== "" && (this.id !== "" || this.hasArguments);
  }
}

/**
 * Maximum number of calls: more than any model makes in one reply. Each uses memory until the
 * stream ends.
 */
const CALLS_MAX = 16_384;

/** Finds the call that a delta belongs to. */
export class StreamedCalls {
  private readonly calls: StreamedCall[] = [];
  private readonly byIndex = new Map<number, StreamedCall>();
  private readonly byId = new Map<string, StreamedCall>();

  /**
   * Returns the call that a delta belongs to, or a new call. `id`, `name` and `args` are empty if the delta
   * has none. Returns undefined above `CALLS_MAX`.
   */
  find(index: unknown, id: string, name: string, args = ""): StreamedCall | undefined {
    const isWhole = name !== "" && !isBlank(args);
    const known =
      typeof index === "number" ? this.atIndex(index, id, isWhole) : this.withoutIndex(id, name);
    const call = known ?? this.create(typeof index === "number" ? index : undefined, id);
    if (call === undefined) return undefined;
    if (call.id === "" && id !== "") call.id = id;
    if (id !== "") this.byId.set(id, call);
    if (typeof index === "number") this.byIndex.set(index, call);
    return call;
  }

  /** Returns the only call of the legacy `function_call` form, which has no ids and indexes. */
  legacy(): StreamedCall | undefined {
    return this.find(-1, "", "");
  }

  /** Returns the calls with a name whose block has not started, in order of arrival. */
  waiting(): StreamedCall[] {
    return this.calls.filter((call) => call.state === "waiting" && call.name !== "");
  }

  /** Some servers give every call the index 0, so a different id means another call, and so does a whole one without ids. */
  private atIndex(index: number, id: string, isWhole: boolean): StreamedCall | undefined {
    const current = this.byIndex.get(index);
    const hasNoId = id === "" && current?.id === "";
    if (hasNoId && isWhole && current.scanner.complete) return undefined;
    if (current === undefined || id === "" || current.id === "" || current.id === id) {
      return current;
    }
    const earlier = this.byId.get(id);
    return earlier?.index === index ? earlier : undefined;
  }

  private withoutIndex(id: string, name: string): StreamedCall | undefined {
    if (id !== "") return this.byId.get(id);
    const latest = this.calls.at(-1);
    // Servers without ids send each call whole, so a name after a whole call starts the next one.
    return name !== "" && latest?.scanner.complete ? undefined : latest;
  }

  private create(index: number | undefined, id: string): StreamedCall | undefined {
    if (this.calls.length >= CALLS_MAX) return undefined;
    const call = new StreamedCall(index, id);
    this.calls.push(call);
    return call;
  }
}
