import type { JsonObject } from "../../../core/plugin/index.ts";
import type { Notes } from "../notes.ts";

interface CallFields {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject | undefined;
}

/** The calls of a Messages conversation that have no result yet. Notes what Messages does not allow. */
export class OpenCalls {
  private readonly ids = new Set<string>();

  constructor(private readonly notes: Notes) {}

  get size(): number {
    return this.ids.size;
  }

  /** Reads a `tool_use`, which waits for its result from now on. */
  add(block: JsonObject, path: string): CallFields {
    const { notes, ids } = this;
    const id = notes.requiredString(block, "id", `${path}.id`);
    const name = notes.requiredString(block, "name", `${path}.name`);
    const input = notes.object(block, "input", `${path}.input`);
    if (ids.has(id)) notes.invalid(`${path}.id`, "is used by two calls");
    ids.add(id);
    return { id, name, input };
  }

  /** Takes the result of a call, which must be open. */
  take(id: string, path: string): void {
    if (this.ids.delete(id)) return;
    const why = "matches no open tool_use of the previous assistant turn";
    this.notes.invalid(`${path}.tool_use_id`, `${id.slice(0, 128)} ${why}`);
  }

  /** Requires that every call has its result. */
  close(): void {
    if (this.ids.size === 0) return;
    const ids = Array.from(this.ids, (id) => id.slice(0, 128));
    const why = "these tool_use ids have no tool_result in the next turn";
    this.notes.invalid("messages", `${why}: ${ids.slice(0, 8).join(", ")}`);
    this.ids.clear();
  }
}
