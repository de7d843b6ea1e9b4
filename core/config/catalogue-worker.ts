import { parentPort, workerData } from "node:worker_threads";
import { type CatalogueFile, readCatalogueFile } from "./read-catalogue.ts";

/** Reads and checks one catalogue file, and sends the result. */
parentPort?.postMessage(await readCatalogueFile(workerData as CatalogueFile));
