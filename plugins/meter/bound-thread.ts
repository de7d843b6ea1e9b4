import type { MeasureWork } from "../../core/plugin/index.ts";
import { contentsOf, type PlainContents } from "./bound.ts";

/** Counts the contents of a long request in the thread that reads or translates it. */
const count: MeasureWork<PlainContents> = ({ outline, latin1 }) => {
  const { isLatin1: _, inflation: __, ...contents } = contentsOf(outline, latin1);
  return contents;
};

export default count;
