import { isObject, type JsonObject } from "../../../core/plugin/index.ts";

/** Lists and objects inside of a cell are cut at this length; `--json` shows them whole. */
const NESTED_CHARACTERS_MAX = 40;
/** Rows whose widths decide those of the columns. */
const MEASURED_ROWS = 200;
const GAP = "  ";

/** Yields the lines of a table with a column for each field. Needs memory for its first rows only. */
export async function* tableOf(
  items: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<string> {
  let first: JsonObject[] | undefined = [];
  let columns: Column[] = [];
  for await (const item of items) {
    const row = isObject(item) ? item : { value: item };
    if (!first) yield lineOf(columns, row);
    else if (first.push(row) === MEASURED_ROWS) {
      columns = columnsOf(first);
      yield* linesOf(columns, first);
      first = undefined;
    }
  }
  if (first?.length === 0) yield "none";
  else if (first) yield* linesOf(columnsOf(first), first);
}

/** Yields the lines of an object: a line for each field, and a table for each list of objects. */
export async function* fieldsOf(value: JsonObject): AsyncGenerator<string> {
  const tables = Object.entries(value).filter(([, field]) => isTable(field));
  const plain = Object.entries(value).filter(([, field]) => !isTable(field));
  const width = Math.max(0, ...plain.map(([name]) => name.length));
  for (const [name, field] of plain) yield name.padEnd(width) + GAP + shown(field, Infinity);
  for (const [name, field] of tables) {
    yield "";
    yield name;
    yield* tableOf(field as readonly JsonObject[]);
  }
}

const isTable = (field: unknown): boolean =>
  Array.isArray(field) && field.length > 0 && field.every((entry) => isObject(entry));

interface Column {
  readonly name: string;
  readonly width: number;
}

function columnsOf(rows: readonly JsonObject[]): Column[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => {
    const widths = rows.map((row) => cell(row, name).length);
    return { name, width: Math.max(name.length, ...widths) };
  });
}

function* linesOf(columns: readonly Column[], rows: readonly JsonObject[]): Generator<string> {
  yield lineOf(columns, Object.fromEntries(columns.map(({ name }) => [name, name])));
  for (const row of rows) yield lineOf(columns, row);
}

function lineOf(columns: readonly Column[], row: JsonObject): string {
  return columns
    .map(({ name, width }) => cell(row, name).padEnd(width))
    .join(GAP)
    .trimEnd();
}

const cell = (row: JsonObject, name: string) => shown(row[name], NESTED_CHARACTERS_MAX);

function shown(value: unknown, nestedMax: number): string {
  if (value === undefined || value === null || value === "") return "-";
  if (typeof value !== "object") return String(value).replace(CONTROL, "?");
  const text = JSON.stringify(value).replace(CONTROL, "?");
  return text.length <= nestedMax ? text : `${text.slice(0, nestedMax - 1)}…`;
}

/** Control characters: a terminal acts on some, and texts may come from customers. */
const CONTROL = /[\p{Cc}\p{Cf}]/gu;
