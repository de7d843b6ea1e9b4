import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../core/process/root.ts";

/** A field of a declared type, with its type as it is written. */
export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
}

/** A declared type: an object with fields, or another name for a type. */
export type Declared =
  | { readonly name: string; readonly fields: readonly Field[] }
  | { readonly name: string; readonly alias: string };

const OPENED =
  /^( *)(?:export )?(?:declare )?(interface|namespace) (\w+)(?: extends ([\w., ]+))? \{$/;
const ALIAS = /^ *(?:export )?type (\w+) = (.*);$/;
const FIELD = /^( *)(?:readonly )?(\w+)(\??): (.*?);?$/;

/** The declarations of an official client: files that a generator has written, one line for each field. */
export class Declarations {
  private readonly types = new Map<string, Declared>();

  constructor(files: readonly string[]) {
    for (const file of files) {
      this.read(readFileSync(join(packageRoot, "node_modules", file), "utf8").split("\n"));
    }
  }

  private read(lines: readonly string[]): void {
    const scope: string[] = [];
    let open: { name: string; fields: Field[]; indent: number } | undefined;
    let skipTo: string | undefined;
    for (const line of lines) {
      if (skipTo !== undefined) {
        if (line.startsWith(skipTo)) skipTo = undefined;
        continue;
      }
      const opened = OPENED.exec(line);
      if (opened) {
        const [, space = "", kind, name = "", parents] = opened;
        scope.length = space.length / 4;
        const full = [...scope, name].join(".");
        if (kind === "namespace") scope.push(name);
        else {
          const inherited = (parents?.split(", ") ?? []).flatMap((parent) => {
            const found = this.find(parent, full);
            return found && "fields" in found ? found.fields : [];
          });
          open = { name: full, fields: [...inherited], indent: space.length + 4 };
          if (!this.types.has(full)) this.types.set(full, open);
        }
        continue;
      }
      const alias = ALIAS.exec(line);
      if (alias && !open) {
        const [, name = "", type = ""] = alias;
        const full = [...scope.slice(0, line.search(/\S/) / 4), name].join(".");
        if (!this.types.has(full)) this.types.set(full, { name: full, alias: type });
        continue;
      }
      if (!open) continue;
      if (line === `${" ".repeat(open.indent - 4)}}`) {
        open = undefined;
        continue;
      }
      const [, space = "", name = "", optional, type = ""] = FIELD.exec(line) ?? [];
      if (name === "" || space.length !== open.indent) continue;
      if (type.endsWith("{")) skipTo = `${space}}`;
      const own = {
        name,
        type: type.endsWith("{") ? "unknown" : type,
        isOptional: optional === "?",
      };
      open.fields.push(own);
    }
  }

  /** Finds a type by the name that is used inside of another one. */
  find(name: string, inside = ""): Declared | undefined {
    const steps = inside.split(".");
    for (let at = steps.length; at >= 0; at--) {
      const found = this.types.get([...steps.slice(0, at), name].filter(Boolean).join("."));
      if (found) return found;
    }
    const [, rest] = /^\w+\.(.+)$/.exec(name) ?? [];
    return rest === undefined ? undefined : this.find(rest);
  }
}

/** Returns the members of a union at the top of a type. */
export function membersOf(type: string): string[] {
  const members: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= type.length; at++) {
    const char = type[at];
    if (char === "<" || char === "(" || char === "{" || char === "[") depth++;
    else if (char === ">" || char === ")" || char === "}" || char === "]") depth--;
    else if (at === type.length || (char === "|" && depth === 0)) {
      members.push(type.slice(from, at).trim());
      from = at + 1;
    }
  }
  return members.filter((member) => member !== "" && member !== "null" && member !== "undefined");
}
