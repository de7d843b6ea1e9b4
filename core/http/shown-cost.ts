import { namesAt } from "../body/request-body.ts";
import { formatVnd, type MicroVnd } from "../catalogue/amount.ts";
import { scanJson } from "../process/json-scan.ts";
import { asBuffer } from "../sse/bytes.ts";
import { ServerEvent } from "../sse/reader.ts";
import { type ClientWire, kindOf } from "../wire/wire.ts";

/** Events after a report of usage that may wait with it. A stream that goes on for longer has a later report. */
const WAITING_MAX = 64;

/**
 * Keeps the latest report of usage in a stream back, with what follows it, until the next content or report. So the last
 * one can state the cost, which is known when the stream has ended.
 */
export class LatestUsage {
  private waiting: ServerEvent[] = [];

  constructor(private readonly wire: ClientWire) {}

  /** Returns the events that can leave now. */
  next(event: ServerEvent): readonly ServerEvent[] {
    if (kindOf(event, this.wire) === "usage") {
      const before = this.waiting;
      this.waiting = [event];
      return before;
    }
    if (this.waiting.length === 0) return [event];
    this.waiting.push(event);
    const isLater = event.hasData && this.wire.stage(event) === "delivered";
    return isLater || this.waiting.length > WAITING_MAX ? this.rest() : [];
  }

  /** Returns the events that wait, which then wait no more. */
  rest(): readonly ServerEvent[] {
    const { waiting } = this;
    this.waiting = [];
    return waiting;
  }
}

/** Returns the events with the cost in the last usage among them. Other bytes stay as they are. */
export function eventsWithCost(
  events: readonly Uint8Array[],
  costMicroVnd: MicroVnd,
): readonly Uint8Array[] {
  for (let at = events.length - 1; at >= 0; at--) {
    const raw = asBuffer(events[at] ?? new Uint8Array(0));
    const data = Buffer.from(new ServerEvent(raw).data);
    // Data of several lines is not found, and stays as it is.
    const from = data.length === 0 ? -1 : raw.indexOf(data);
    const priced = from < 0 ? undefined : withCost(data, costMicroVnd);
    if (!priced) continue;
    const tail = raw.subarray(from + data.length);
    return events.with(at, Buffer.concat([raw.subarray(0, from), priced, tail]));
  }
  return events;
}

/**
 * Returns the bytes of a JSON reply, or of an event's data, with `cost_vnd` at the end of its usage; undefined if it has no
 * usage. Other bytes stay as they are.
 */
export function withCost(json: Buffer, costMicroVnd: MicroVnd): Buffer | undefined {
  const end = endOfUsage(json);
  if (end === undefined) return undefined;
  let last = end - 1;
  while (BLANKS.has(json[last] ?? 0)) last--;
  const comma = json[last] === OPEN_OBJECT ? "" : ",";
  // At the end: of two fields with one name, parsers take the later one.
  const field = `${comma}"cost_vnd":"${formatVnd(costMicroVnd)}"`;
  return Buffer.concat([json.subarray(0, end), Buffer.from(field), json.subarray(end)]);
}

const OPEN_OBJECT = 0x7b;
const BLANKS: ReadonlySet<number> = new Set(Buffer.from(" \t\r\n"));

/** Returns the position of the brace that ends the usage: of the object, or of its `response`. */
function endOfUsage(json: Buffer, isResponse = false): number | undefined {
  const { places, names } = fieldsOf(json);
  const rangeOf = (name: string) => {
    const at = 4 * names.lastIndexOf(name);
    const [from = 0, to = 0] = at < 0 ? [] : [places[at + 2], places[at + 3]];
    return json[from] === OPEN_OBJECT && to > from ? { from, to } : undefined;
  };
  const usage = rangeOf("usage");
  if (usage) return usage.to - 1;
  const response = isResponse ? undefined : rangeOf("response");
  const end = response && endOfUsage(json.subarray(response.from, response.to), true);
  return end === undefined ? undefined : (response?.from ?? 0) + end;
}

function fieldsOf(json: Buffer): { places: readonly number[]; names: readonly string[] } {
  const scan = scanJson(json, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  if (typeof scan === "string") return { places: [], names: [] };
  try {
    return { places: scan.places, names: namesAt(json, scan.places) };
  } catch {
    // A provider may send anything as an event: this name is not JSON.
    return { places: [], names: [] };
  }
}
