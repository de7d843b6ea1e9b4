import { Worker } from "node:worker_threads";

type Done = (error: Error | null) => void;

/** Memory limits of a thread that only waits for the disk. */
const MEMORY = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };

let thread: Worker | undefined;
/** The callbacks of the syncs that the thread has not answered, in the order of its work. */
let waiting: Done[] = [];

/**
 * Syncs `folder`, if it is given, and then a file, in a thread of their own: a slow disk stops neither the event loop
 * nor the work of libuv's pool, such as the hash of a password. Calls `done` in a later turn.
 */
export function syncInThread(fd: number, done: Done, folder?: string): void {
  try {
    thread ??= begin();
    thread.postMessage({ fd, folder });
    waiting.push(done);
    thread.ref();
  } catch (error) {
    setImmediate(done, new Error("cannot start the thread that syncs files", { cause: error }));
  }
}

function begin(): Worker {
  const worker = new Worker(new URL("./sync-worker.js", import.meta.url), {
    resourceLimits: MEMORY,
  });
  worker.on("message", (error: Error | null) => {
    waiting.shift()?.(error);
    if (waiting.length === 0) worker.unref();
  });
  // Whether its syncs have reached the disk is unknown. The next one starts another thread.
  worker.on("error", (cause) => {
    const left = waiting;
    [thread, waiting] = [undefined, []];
    for (const done of left) done(new Error("the thread that syncs files broke", { cause }));
  });
  return worker;
}
