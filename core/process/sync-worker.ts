/** The thread of `syncInThread`: syncs what it is sent, and replies with the error, or null. */
import { fdatasyncSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { syncFolder } from "./disk.ts";
import { errorOf } from "./thrown.ts";

parentPort?.on("message", ({ fd, folder }: { readonly fd: number; readonly folder?: string }) => {
  let failure: Error | null = null;
  try {
    if (folder !== undefined) syncFolder(folder);
    fdatasyncSync(fd);
  } catch (error) {
    failure = errorOf(error);
  }
  parentPort?.postMessage(failure);
});
