import type { Place } from "./place.ts";

/** A mutant whose effect no test can see, by its line as compiled, and the reason. */
interface Unobservable {
  readonly source: string;
  readonly before: string;
  /** The lines after it; undefined for every mutant of the line. */
  readonly after?: string;
  readonly why: string;
}

const UNOBSERVABLE: readonly Unobservable[] = [];

/** Returns why a mutant cannot be observed; undefined if it can. */
export function reasonFor({ source, before, after }: Place): string | undefined {
  return UNOBSERVABLE.find(
    (each) =>
      each.source === source &&
      each.before === before &&
      (each.after === undefined || each.after === after),
  )?.why;
}
