import {
  type CheckedCatalogue,
  checkCatalogue,
  type UpstreamProtocols,
} from "./catalogue-review.ts";
import type { Environment } from "./environment.ts";
import { inOwnThread } from "./own-thread.ts";
import { type Problem, Problems } from "./problem.ts";
import { readSource } from "./read-source.ts";

export interface CatalogueFile {
  readonly path: string;
  readonly environment: Environment;
  readonly upstreams: UpstreamProtocols;
}

interface ReadCatalogue {
  /** Use it only if there are no problems. */
  readonly checked: CheckedCatalogue | undefined;
  readonly problems: readonly Problem[];
}

/** Reads and checks a catalogue file: on a thread of its own if this one serves calls. */
export function readCatalogue(file: CatalogueFile, isServing: boolean): Promise<ReadCatalogue> {
  if (!isServing) return readCatalogueFile(file);
  return inOwnThread("catalogue", { ...file, environment: { ...file.environment } });
}

/** Reads and checks a catalogue file on this thread. */
export async function readCatalogueFile(file: CatalogueFile): Promise<ReadCatalogue> {
  const problems = new Problems();
  const source = await readSource(file.path, file.environment, problems);
  const checked = source && checkCatalogue(source, file.upstreams);
  return { checked, problems: problems.list() };
}
