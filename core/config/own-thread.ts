import { once } from "node:events";
import { Worker } from "node:worker_threads";

/**
 * Does a task of `config-worker.ts` on a thread of its own, so that this one goes on with calls. Rejects with the error of
 * a thread that fails.
 */
export async function inOwnThread<Result>(
  kind: "yaml" | "catalogue",
  given: object,
): Promise<Result> {
  const workerData = { kind, ...given };
  const worker = new Worker(new URL("./config-worker.js", import.meta.url), { workerData });
  const [result] = await once(worker, "message");
  return result;
}
