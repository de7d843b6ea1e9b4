import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { isRefusal } from "../../../core/contract/refusal.ts";
import { OwnBodyThreads, type ThreadLimits } from "../../../core/http/body-threads.ts";
import { recordedLog } from "../../support/log.ts";
import { keyOf } from "../../support/plugin-desk.ts";
import { until } from "../../support/until.ts";

const workerThreads = createRequire(import.meta.url)("node:worker_threads");
const workOf = (name: string) => new URL(`./thread-work/${name}.js`, import.meta.url);
const callOf = () => ({ id: "call", key: keyOf(), gone: false });
const BYTES = Buffer.from("{}");

function threads(t: Test, limits: Partial<ThreadLimits> = {}) {
  const { log, lines } = recordedLog();
  const made = new OwnBodyThreads(log, { threads: 1, ...limits });
  t.teardown(() => made.stop());
  const run = async (work: string, input: object = {}, bytes: Uint8Array = BYTES) => {
    const result = await made.run<{ said: string }>(callOf(), workOf(work), input, bytes);
    return isRefusal(result) ? result.status : result.said;
  };
  return { made, lines, run };
}

/** Replaces the class of threads for a test. */
function useWorkers(t: Test, worker: unknown): void {
  const original = workerThreads.Worker;
  const use = (one: unknown) => {
    workerThreads.Worker = one;
    syncBuiltinESMExports();
  };
  use(worker);
  t.teardown(() => use(original));
}

/** The threads that start during a test. */
function startedWorkers(t: Test): Worker[] {
  const started: Worker[] = [];
  const Original = workerThreads.Worker;
  useWorkers(
    t,
    class extends Original {
      constructor(...given: unknown[]) {
        super(...given);
        started.push(this as unknown as Worker);
      }
    },
  );
  return started;
}

t.test(
  "a thread that exits by itself is noticed before the time of its body is over",
  async (t) => {
    const { lines, run } = threads(t);
    const all = await Promise.all([run("exit"), run("echo", { said: "next" })]);
    t.strictSame(all, [413, "next"]);
    t.match(lines, [{ reason: "exit" }]);
  },
);

t.test("a thread whose reply cannot be read ends at once", async (t) => {
  const started = startedWorkers(t);
  const { lines, run } = threads(t);
  await run("echo");
  const spins = run("spin");
  started[0]?.emit("messageerror", new Error("unreadable"));
  t.strictSame(await Promise.all([spins, run("echo", { said: "next" })]), [413, "next"]);
  t.match(lines, [{ reason: "message" }]);
});

t.test("an idle thread that exits by itself is replaced", async (t) => {
  const started = startedWorkers(t);
  const { made, run } = threads(t);
  await run("echo");
  await started[0]?.terminate();
  await until("the thread is gone", () => made.threadCount === 0);
  t.equal(await run("echo", { said: "next" }), "next");
});
