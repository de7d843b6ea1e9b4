import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** Returns the last bytes of a file; an empty text if there is none. Creates it then. */
export function tailOf(path: string, bytes: number): string {
  const file = openSync(path, "a+");
  const { size } = fstatSync(file);
  const tail = Buffer.alloc(Math.min(size, bytes));
  readSync(file, tail, 0, tail.length, size - tail.length);
  closeSync(file);
  return tail.toString();
}
