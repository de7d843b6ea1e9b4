import type { Journal } from "../../../../core/money/journal/journal.ts";

/** Acknowledges the records from `first` to `last`, each by itself. */
export function acknowledge(journal: Journal, first: number, last: number): void {
  for (let position = first; position <= last; position += 1) journal.acknowledge(position);
}
