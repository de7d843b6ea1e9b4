import type { JsonObject } from "../../process/json.ts";
import type { Row } from "./table.ts";

/** A part of a request that has a row in the table. */
export interface Use {
  readonly row: Row;
  /** Path of the field at fault: `tools[2].type`. */
  readonly path: string;
  /** The name of the part in the header that lists what was left out. */
  readonly name: string;
  /** Removes this part from the body; undefined for a demand. */
  readonly leaveOut: (() => void) | undefined;
  /** True if that sets or deletes a field of the body, and changes nothing inside of one. */
  readonly isTop: boolean;
  /** The tool, if it is one. */
  readonly tool: JsonObject | undefined;
}

const NOTHING: readonly Use[] = Object.freeze([]);

/** Collects the features that a request asks for. Allocates no list for an ordinary request. */
export class Found {
  private list: Use[] | undefined = undefined;

  get uses(): readonly Use[] {
    return this.list ?? NOTHING;
  }

  add(row: Row, path: string, name: string, more: Partial<Use> = {}): void {
    this.list ??= [];
    const { leaveOut, isTop = false, tool } = more;
    this.list.push({ row, path, name, leaveOut, isTop, tool });
  }
}
