import asyncHooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

/**
 * To be loaded before tap, which finds the test of an error that a callback throws, or that nothing awaits, by a hook
 * that V8 calls for every promise: up to a quarter of the processor time of a file that sends many requests. Here the
 * error fails the test that runs, the last begun if several do.
 */
const { createHook } = asyncHooks;
asyncHooks.createHook = () => createHook({});
syncBuiltinESMExports();
// tap enables its hook as it is loaded.
const { default: t } = await import("tap");
asyncHooks.createHook = createHook;
syncBuiltinESMExports();

interface Running {
  threw(error: unknown): unknown;
}

const running: Running[] = [t];
follow(t);

process.on("uncaughtException", (error) => {
  // A test that has a listener itself expects the error.
  if (process.listenerCount("uncaughtException") === 1) running.at(-1)?.threw(error);
});

function follow(parent: typeof t): void {
  parent.on("subtestStart", (test) => {
    running.push(test);
    // Its type lacks the events of tests.
    follow(test as unknown as typeof t);
  });
  parent.on("subtestEnd", (test) => {
    const at = running.lastIndexOf(test);
    if (at >= 0) running.splice(at, 1);
  });
}
