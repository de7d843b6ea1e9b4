import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/**
 * The code that one test ran, with every process that it started: the ranges that V8 counted, by
 * file.
 */
export class Coverage {
  /** One list of ranges for each process that loaded the file. */
  private readonly files = new Map<string, Range[][]>();

  /** Reads a folder of `NODE_V8_COVERAGE`; keeps the files below `under`, both without links. */
  constructor(folder: string, root: string, under: readonly string[]) {
    const base = pathToFileURL(root + sep).href;
    for (const name of readdirSync(folder)) {
      const report = parsed(readFileSync(join(folder, name), "utf8"));
      for (const { url, functions } of report?.result ?? []) {
        const file = url.startsWith(base) ? url.slice(base.length) : "";
        if (!under.includes(file)) continue;
        const processes = this.files.get(file) ?? [];
        processes.push(functions.flatMap(({ ranges }) => ranges));
        this.files.set(file, processes);
      }
    }
  }

  /** True if it ran any of the files. */
  get isAny(): boolean {
    return this.files.size > 0;
  }

  /** Returns true if the code at this offset ran: the smallest range around it decides. */
  has(file: string, offset: number): boolean {
    return (this.files.get(file) ?? []).some((ranges) => {
      let smallest: Range | undefined;
      for (const range of ranges) {
        if (offset < range.startOffset || offset >= range.endOffset) continue;
        if (!smallest || lengthOf(range) <= lengthOf(smallest)) smallest = range;
      }
      return smallest !== undefined && smallest.count > 0;
    });
  }
}

function lengthOf({ startOffset, endOffset }: Range): number {
  return endOffset - startOffset;
}

/** A process that is killed leaves half a report. */
function parsed(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return undefined;
  }
}
