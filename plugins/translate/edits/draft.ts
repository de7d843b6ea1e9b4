import {
  isObject,
  type JsonObject,
  type Profile,
  type RequestBody,
} from "../../../core/plugin/index.ts";
import type { Notes } from "../notes.ts";

/**
 * A body under edit. Copies the parts that it changes, so that the client's body stays unchanged;
 * the order of fields and entries stays too.
 */
export class Draft {
  /** True if the client speaks another protocol than the model. */
  readonly isTranslated: boolean;
  private current: JsonObject;
  private readonly original: JsonObject;
  private readonly source: RequestBody | undefined;
  /** The client's names of fields that have another name in its protocol. */
  private readonly names: Readonly<Record<string, string>>;

  constructor(
    body: JsonObject,
    readonly profile: Profile,
    readonly notes: Notes,
    names: Readonly<Record<string, string>> | undefined,
    source?: RequestBody,
  ) {
    this.source = source;
    this.isTranslated = names !== undefined;
    this.original = body;
    this.current = body;
    this.names = names ?? {};
  }

  get body(): JsonObject {
    return this.current;
  }

  get isEdited(): boolean {
    return this.current !== this.original;
  }

  /** Returns true if the field is present and not null. */
  has(name: string): boolean {
    return this.current[name] !== undefined && this.current[name] !== null;
  }

  object(name: string): JsonObject | undefined {
    const value = this.current[name];
    return isObject(value) ? value : undefined;
  }

  set(name: string, value: unknown): void {
    if (this.current[name] !== value) this.current = { ...this.current, [name]: value };
  }

  remove(name: string): void {
    if (this.current[name] === undefined) return;
    const { [name]: _, ...rest } = this.current;
    this.current = rest;
  }

  /** Removes a hint that the model does not accept, and names it in the reply's header. */
  drop(name: string): void {
    if (!this.has(name)) return;
    this.remove(name);
    this.nameDropped(name);
  }

  /** `part`: a field inside, which has the same name in all protocols. */
  nameDropped(name: string, part?: string): void {
    const own = this.names[name] ?? name;
    this.notes.drop(part === undefined ? own : `${own}.${part}`);
  }

  refuse(name: string, why: string): void {
    this.notes.unsupported(this.names[name] ?? name, why);
  }

  /**
   * The facts about a conversation that is not read yet; undefined once it is read. An edit that would change nothing
   * there need not read it.
   */
  get unread(): NonNullable<RequestBody["turns"]> | undefined {
    return this.source?.turns;
  }

  /** Returns the entries of a list. Reads the conversation if it is the one. */
  entries(name: string): readonly unknown[] {
    if (this.unread) this.source?.read(name);
    const value = this.current[name];
    return Array.isArray(value) ? value : [];
  }

  /** Replaces the entries of a list for which `edit` returns another value. */
  editEntries(name: string, edit: (entry: JsonObject, at: number) => JsonObject): void {
    const entries = this.entries(name);
    let edited: unknown[] | undefined;
    for (let at = 0; at < entries.length; at++) {
      const entry = entries[at];
      if (!isObject(entry)) continue;
      const made = edit(entry, at);
      if (made === entry) continue;
      edited ??= [...entries];
      edited[at] = made;
    }
    if (edited) this.set(name, edited);
  }
}
