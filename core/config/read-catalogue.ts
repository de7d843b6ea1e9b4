import { stat } from "node:fs/promises";
import {
  type CheckedCatalogue,
  checkCatalogue,
  type UpstreamProtocols,
} from "./catalogue-review.ts";
import type { Environment } from "./environment.ts";
import { inOwnThread } from "./own-thread.ts";
import { type Problem, Problems } from "./problem.ts";
import { readSource } from "./read-source.ts";

/** Size above which a file is read on a thread of its own: reading its YAML takes more than 0.1 s. */
const OWN_THREAD_BYTES_MIN = 100_000;

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

/** Reads and checks a catalogue file: on a thread of its own if it is large, or if this one serves calls. */
export async function readCatalogue(
  file: CatalogueFile,
  isServing = false,
): Promise<ReadCatalogue> {
  const size = await stat(file.path).then(
    (found) => found.size,
    () => 0,
  );
  if (size < OWN_THREAD_BYTES_MIN && !isServing) return readCatalogueFile(file);
  return inOwnThread("catalogue", { ...file, environment: { ...file.environment } });
}

/** Reads and checks a catalogue file on this thread. */
export async function readCatalogueFile(file: CatalogueFile): Promise<ReadCatalogue> {
  const problems = new Problems();
  const source = await readSource(file.path, file.environment, problems);
  const checked = source && checkCatalogue(source, file.upstreams);
  return { checked, problems: problems.list() };
}
