import type { MeasureWork } from "../../core/plugin/index.ts";
import { contentsOf, type PlainContents } from "./bound.ts";

/** Counts the contents of a long request in the thread that translates it. */
const count: MeasureWork<PlainContents> = (body, given) => {
  const { texts: _, inflation: __, ...contents } = contentsOf(body, given);
  return contents;
};

export default count;
