import { parentPort, workerData } from "node:worker_threads";
import { type CatalogueFile, readCatalogueFile } from "./read-catalogue.ts";
import { readYaml } from "./yaml.ts";

/** A task of `inOwnThread`: the text of a config, or a catalogue to read and check. */
type Task =
  | { readonly kind: "yaml"; readonly file: string; readonly text: string }
  | ({ readonly kind: "catalogue" } & CatalogueFile);

const task: Task = workerData;
parentPort?.postMessage(
  task.kind === "yaml" ? readYaml(task.file, task.text) : await readCatalogueFile(task),
);
