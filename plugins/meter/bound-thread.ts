import type { RequestBody } from "../../core/plugin/index.ts";
import { contentsOf, type PlainContents } from "./bound.ts";

/** Counts the contents of a long request in the thread that reads or translates it. */
export default function count({ outline }: RequestBody): PlainContents {
  const { inflation: _, ...contents } = contentsOf(outline);
  return contents;
}
