import type { JsonObject } from "../../../core/plugin/index.ts";

/** Longer values of lost keywords are cut in a description. */
const LOST_CHARS_MAX = 1_000;

/** A schema under edit. Copies it before the first change. */
export class SchemaDraft {
  private made: Record<string, unknown> | undefined = undefined;
  private notes: string[] | undefined = undefined;

  constructor(private readonly given: JsonObject) {}

  get schema(): JsonObject {
    return this.made ?? this.given;
  }

  value(keyword: string): unknown {
    return this.schema[keyword];
  }

  set(keyword: string, value: unknown): void {
    if (this.value(keyword) === value) return;
    this.made ??= { ...this.given };
    this.made[keyword] = value;
  }

  remove(keyword: string): void {
    if (this.value(keyword) === undefined) return;
    this.made ??= { ...this.given };
    delete this.made[keyword];
  }

  /** Removes a keyword that the provider does not take; the description says what it was. */
  lose(keyword: string): void {
    const value = this.value(keyword);
    this.remove(keyword);
    this.describe(keyword, value);
  }

  /** `replacer`: as that of `JSON.stringify`. */
  describe(
    keyword: string,
    value: unknown,
    replacer?: (name: string, value: unknown) => unknown,
  ): void {
    const text = typeof value === "string" ? value : JSON.stringify(value, replacer);
    const shown = text.length > LOST_CHARS_MAX ? `${text.slice(0, LOST_CHARS_MAX)}…` : text;
    this.notes ??= [];
    this.notes.push(`${keyword}: ${shown}`);
  }

  finished(): JsonObject {
    if (this.notes) {
      const { description } = this.schema;
      const own = typeof description === "string" && description !== "" ? [description] : [];
      this.set("description", [...own, ...this.notes].join("\n"));
      this.notes = undefined;
    }
    return this.schema;
  }
}
