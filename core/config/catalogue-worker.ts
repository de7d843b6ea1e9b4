import { parentPort, workerData } from "node:worker_threads";
import { type CatalogueFile, readCatalogueFile } from "./read-catalogue.ts";

parentPort?.postMessage(await readCatalogueFile(workerData as CatalogueFile));
