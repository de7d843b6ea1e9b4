import { isObject, type JsonObject } from "../../../core/plugin/index.ts";

/** Rows whose widths decide those of the columns. */
const MEASURED_ROWS = 200;
const GAP = "  ";
/** If a table is too wide, its headers and texts are cut to these widths before columns are left out. */
const HEADER_WIDTH_MIN = 8;
const TEXT_WIDTH_MIN = 16;
/** Of an id that is cut, its end is shown: ids of the same minute begin alike. */
const ID_END = 8;

/** Fields that a reader looks for first, in this order. Columns further right are left out earlier. */
const FIRST: readonly string[] = [
  ...[
    "email",
    "name",
    "at",
    "action",
    "model",
    "cost_vnd",
    "status",
    "input_tokens",
    "output_tokens",
  ],
];
/** More columns that were left out are only counted. */
const NAMES_MAX = 6;
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/**
 * Lays out output for people: names first, ids last, times in the zone of the reader. Tables fit `width` characters:
 * ids, then texts are cut, then columns are left out. Its last lines say so, and name the zone.
 */
export class Sheet {
  private readonly leftOut = new Set<string>();
  private isCut = false;
  private hasTimes = false;

  /** `width`: Infinity shows everything. */
  constructor(private readonly width: number) {}

  /** Yields the lines of a list or of one value, and the notes below. */
  async *linesOf(output: AsyncIterable<unknown> | unknown): AsyncGenerator<string> {
    if (isList(output)) yield* this.tableOf(output);
    else if (isObject(output)) yield* this.fieldsOf(output);
    else yield this.shown(output);
    const notes = this.notes();
    if (notes.length > 0) yield* ["", ...notes];
  }

  /** Yields a table with a column for each field. Needs memory for its first rows only. */
  private async *tableOf(
    items: AsyncIterable<unknown> | Iterable<unknown>,
  ): AsyncGenerator<string> {
    let first: JsonObject[] | undefined = [];
    let columns: readonly Column[] = [];
    for await (const item of items) {
      const row = isObject(item) ? item : { value: item };
      if (!first) yield this.lineOf(columns, row);
      else if (first.push(row) === MEASURED_ROWS) {
        columns = this.columnsOf(first);
        yield* this.rowsOf(columns, first);
        first = undefined;
      }
    }
    if (first?.length === 0) yield "none";
    else if (first) yield* this.rowsOf(this.columnsOf(first), first);
  }

  /** Yields a line for each field, then a table for each list of objects, and each text of several lines. */
  private async *fieldsOf(value: JsonObject): AsyncGenerator<string> {
    const entries = Object.entries(value);
    const tables = entries.filter(([, field]) => isTable(field));
    const texts = entries.filter(([, field]) => isLongText(field));
    const plain = entries.filter(([, field]) => !isTable(field) && !isLongText(field));
    const fields = sorted(plain.map(([name, field]) => ({ name, field, isId: isId(field) })));
    const width = Math.max(0, ...plain.map(([name]) => name.length));
    for (const { name, field } of fields) yield name.padEnd(width) + GAP + this.shown(field);
    for (const [name, field] of tables) {
      yield "";
      yield name;
      yield* this.tableOf(field as readonly JsonObject[]);
    }
    for (const [name, field] of texts) {
      yield* ["", name, ...String(field).trimEnd().split("\n").map(plainText)];
    }
  }

  private columnsOf(rows: readonly JsonObject[]): readonly Column[] {
    const { hasTimes } = this;
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const columns = names.map((name) => {
      const values = rows.map((row) => row[name]).filter((value) => !isEmpty(value));
      const width = Math.max(1, ...values.map((value) => this.shown(value).length));
      const areAll = (test: (value: unknown) => boolean) => values.length > 0 && values.every(test);
      const column = { name, isId: areAll(isId), isNumber: areAll(isNumber) };
      const isRigid = column.isId || column.isNumber || areAll(isTime);
      const cut = isRigid ? width : Math.min(width, TEXT_WIDTH_MIN);
      return {
        ...column,
        isEmpty: values.length === 0,
        width: Math.max(name.length, width),
        widthMin: Math.max(Math.min(name.length, HEADER_WIDTH_MIN), column.isId ? ID_END + 1 : cut),
      };
    });
    // Columns that are left out show no times.
    this.hasTimes = hasTimes;
    return this.fitted(sorted(columns));
  }

  /** Cuts columns, and leaves some out, until a line of them fits. */
  private fitted(columns: readonly Column[]): readonly Column[] {
    const fits = (widths: readonly number[]) =>
      widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) <= this.width;
    const all = [...columns];
    while (all.length > 1 && !fits(all.map(({ widthMin }) => widthMin))) {
      const [{ name = "" } = {}] = all.splice(leastOf(all), 1);
      this.leftOut.add(name);
    }
    const isTooWide = !fits(all.map(({ width }) => width));
    const now = isTooWide
      ? all.map((one) => (one.isId ? { ...one, width: one.widthMin } : one))
      : all;
    if (isTooWide) this.isCut = true;
    while (!fits(now.map(({ width }) => width))) {
      const [widest] = now
        .filter(({ width, widthMin }) => width > widthMin)
        .toSorted((one, other) => other.width - one.width);
      if (!widest) break;
      now[now.indexOf(widest)] = { ...widest, width: widest.width - 1 };
    }
    return now;
  }

  private *rowsOf(columns: readonly Column[], rows: readonly JsonObject[]): Generator<string> {
    yield columns
      .map((one) => aligned(one, cutEnd(one.name, one.width)))
      .join(GAP)
      .trimEnd();
    for (const row of rows) yield this.lineOf(columns, row);
  }

  private lineOf(columns: readonly Column[], row: JsonObject): string {
    const cells = columns.map((one) => aligned(one, this.cell(one, row[one.name])));
    return cells.join(GAP).trimEnd();
  }

  private cell({ width, isId: isOfIds }: Column, value: unknown): string {
    const text = this.shown(value);
    // Later rows may be wider than those that were measured.
    if (this.width === Number.POSITIVE_INFINITY || text.length <= width) return text;
    if (isOfIds) return `…${text.slice(1 - width)}`;
    return text.includes("/") ? cutMiddle(text, width) : cutEnd(text, width);
  }

  /** Returns a value as text on one line; objects and lists without the signs of JSON. */
  private shown(value: unknown, isNested = false): string {
    if (isEmpty(value)) return "-";
    if (isTime(value)) {
      this.hasTimes = true;
      // The Swedish form is that of ISO, in local time.
      return new Date(value).toLocaleString("sv");
    }
    if (typeof value !== "object" || value === null) return plainText(String(value));
    const parts = Array.isArray(value)
      ? value.map((one) => this.shown(one, true))
      : Object.entries(value).map(([name, one]) => `${plainText(name)} ${this.shown(one, true)}`);
    if (parts.length === 0) return "none";
    return isNested ? `(${parts.join(", ")})` : parts.join(", ");
  }

  private notes(): string[] {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const names = [...this.leftOut];
    const columns = names.length > NAMES_MAX ? `${names.length} columns` : names.join(", ");
    return [
      ...(this.hasTimes ? [`times: ${timeZone}`] : []),
      ...(columns !== "" ? [`left out: ${columns}; --wide shows all`] : []),
      ...(this.isCut && columns === "" ? ["cut to fit; --wide shows all"] : []),
    ];
  }
}

interface Column {
  readonly name: string;
  readonly isId: boolean;
  readonly isNumber: boolean;
  readonly isEmpty: boolean;
  readonly width: number;
  readonly widthMin: number;
}

/** Puts names and what else is looked for first, and ids last. */
function sorted<T extends { readonly name: string; readonly isId: boolean }>(
  fields: readonly T[],
): readonly T[] {
  const rank = ({ name, isId: isLast }: T) => {
    const at = FIRST.indexOf(name);
    return at >= 0 ? at : FIRST.length + Number(isLast);
  };
  return fields.toSorted((one, other) => rank(one) - rank(other));
}

/** Returns the column that a reader misses least: an empty one, or else the last, but the first id stays. */
function leastOf(columns: readonly Column[]): number {
  const empty = columns.findLastIndex((column) => column.isEmpty);
  if (empty >= 0) return empty;
  const key = columns.findIndex((column) => column.isId);
  return key === columns.length - 1 ? key - 1 : columns.length - 1;
}

function aligned({ width, isNumber: isRight }: Column, text: string): string {
  return isRight ? text.padStart(width) : text.padEnd(width);
}

function cutEnd(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Of addresses and paths, the end matters most. */
function cutMiddle(text: string, width: number): string {
  const end = Math.ceil((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(-end)}`;
}

/** Control characters become "?": a terminal acts on some, and texts may come from customers. */
function plainText(text: string): string {
  return text.normalize("NFC").replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

const isEmpty = (value: unknown) => value === undefined || value === null || value === "";
const isId = (value: unknown) => typeof value === "string" && ID.test(value);
const isTime = (value: unknown): value is string => typeof value === "string" && TIME.test(value);
const isNumber = (value: unknown) => NUMBER.test(String(value));
const isLongText = (field: unknown) => typeof field === "string" && field.includes("\n");
const isTable = (field: unknown) =>
  Array.isArray(field) && field.length > 0 && field.every((entry) => isObject(entry));

function isList(output: unknown): output is AsyncIterable<unknown> | Iterable<unknown> {
  return (
    typeof output === "object" &&
    output !== null &&
    (Symbol.asyncIterator in output || Symbol.iterator in output)
  );
}
