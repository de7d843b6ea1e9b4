import * as v from "valibot";

/**
 * The building blocks of config schemas, for core and for plugins. A message in a schema names what is expected ("a
 * whole number from 0 to 9"). The loader of the config makes the sentence, and never repeats a value.
 */

/** Non-empty text. */
export function text(expected = "text") {
  return v.pipe(v.string(expected), v.nonEmpty(expected));
}

/** Text of a certain form. */
export function matching(form: RegExp, expected: string) {
  return v.pipe(v.string(expected), v.regex(form, expected));
}

/** Text that a function takes. */
export function passing(isRight: (text: string) => boolean, expected: string) {
  return v.pipe(v.string(expected), v.check(isRight, expected));
}

/** A whole number from `min` to `max`, both included. */
export function whole(min: number, max: number, expected = `a whole number from ${min} to ${max}`) {
  return v.pipe(
    v.number(expected),
    v.integer(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
}

/**
 * A day of the calendar, as text; `form` bounds its year. The 30th of February is none, though a parser takes it for one of
 * March.
 */
export function day(form = /^\d{4}-\d\d-\d\d$/, expected = "a day, such as 2026-11-30") {
  const isReal = (text: string) => new Date(text).toJSON()?.slice(0, 10) === text;
  return v.pipe(matching(form, expected), v.check(isReal, expected));
}

/** The number of rows in a query, 1 to `max`; `standard` if it has none. */
export function rowLimit(standard = 100, max = 1_000) {
  const expected = `a whole number from 1 to ${max}`;
  const rows = v.pipe(
    matching(new RegExp(`^\\d{1,${String(max).length}}$`), expected),
    v.transform(Number),
    v.minValue(1, expected),
    v.maxValue(max, expected),
  );
  return v.optional(rows, String(standard));
}

/** One of the given texts. */
export function oneOf<const T extends readonly string[]>(options: T) {
  return v.picklist(options, `one of ${options.join(", ")}`);
}

/** An absolute URL of one of the schemes. */
export function url(schemes: readonly string[], expected: string) {
  const form = new RegExp(`^(?:${schemes.join("|")})://[^\\s/?#]+[^\\s?#]*$`);
  return v.pipe(
    v.string(expected),
    v.regex(form, expected),
    v.check((address) => URL.canParse(address), expected),
  );
}

/** A list with at least one item. */
export function some<const T extends v.GenericSchema>(item: T, expected: string) {
  return v.pipe(v.array(item, expected), v.minLength(1, expected));
}

/** A mapping with exactly these keys. Optional ones are `v.optional`. */
export function mapping<const T extends v.ObjectEntries>(entries: T) {
  const known = Object.keys(entries).join(", ");
  return refusingLists(
    v.strictObject(entries, (issue) => {
      if (issue.expected === "never") return known;
      const key = issue.path?.[0].key;
      const missing = key === undefined ? undefined : entries[String(key)];
      return missing ? expectationOf(missing) : `a mapping of ${known}`;
    }),
  );
}

/** A mapping whose keys the operator chooses. */
export function named<const T extends v.GenericSchema>(
  value: T,
  name: v.GenericSchema<string, string>,
  expected: string,
) {
  return refusingLists(v.record(name, value, expected));
}

/** Adds the description that editors show for a key. */
export function described<const T extends v.GenericSchema>(schema: T, description: string) {
  return v.pipe(schema, v.description(description));
}

type Described<T extends v.GenericSchema> = ReturnType<typeof described<T>>;

/** A key that may be left out, with the description that editors show, and the value that it then has. */
export function setting<const T extends v.GenericSchema>(
  schema: T,
  description: string,
): v.OptionalSchema<Described<T>, undefined>;
export function setting<
  const T extends v.GenericSchema,
  const D extends v.Default<Described<T>, undefined>,
>(schema: T, description: string, fallback: D): v.OptionalSchema<Described<T>, D>;
export function setting(schema: v.GenericSchema, description: string, fallback?: unknown) {
  return v.optional(described(schema, description), fallback as never);
}

/** Returns what a schema expects, in its own words: its message for a missing value. */
function expectationOf(schema: v.ObjectEntries[string]): string {
  if (schema.async) return "a value";
  return v.safeParse(schema, undefined).issues?.[0].message ?? "a value";
}

/** Makes a schema of a mapping refuse lists. In JavaScript a list is an object too; in YAML it is no mapping. */
export function refusingLists<const T extends v.GenericSchema>(schema: T): T {
  const run = schema["~run"];
  return {
    ...schema,
    "~run": (dataset: Parameters<typeof run>[0], config: Parameters<typeof run>[1]) =>
      run.call(schema, Array.isArray(dataset.value) ? { value: undefined } : dataset, config),
  };
}
export * as v from "valibot";
