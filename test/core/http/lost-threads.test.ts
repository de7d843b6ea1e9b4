import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { OwnBodyThreads, type ThreadLimits } from "../../../core/http/body-threads.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
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

/** More bytes than there is memory for. */
const ENDLESS = { length: Number.MAX_SAFE_INTEGER } as Uint8Array;

t.test(
  "a body that cannot be copied to a thread gets 503, and those behind it results",
  async (t) => {
    const { lines, run } = threads(t);
    t.equal(await run("echo", {}, ENDLESS), 503);
    t.equal(await run("echo", { said: "later" }), "later");
    t.match(lines, [{ call_id: "call", err: { type: "RangeError" } }]);
  },
);

t.test("a body that cannot begin when another ends leaves that one its result", async (t) => {
  const max = Number.POSITIVE_INFINITY;
  const { run } = threads(t, { waitingBytesMax: max, waitingBytesOfAccountMax: max });
  const all = [run("echo", { said: "first" }), run("echo", {}, ENDLESS)];
  all.push(run("echo", { said: "last" }));
  t.strictSame(await Promise.all(all), ["first", 503, "last"]);
});

t.test("a thread whose first body cannot be copied ends once it is idle", async (t) => {
  const { made, run } = threads(t, { idleMs: 10 });
  t.equal(await run("echo", {}, ENDLESS), 503);
  await until("the thread has ended", () => made.threadCount === 0);
});

t.test("bodies get 503 while no thread can start, and results once one can", async (t) => {
  const { run } = threads(t);
  await t.test("no thread", async (t) => {
    useWorkers(t, function fail() {
      throw new Error("EAGAIN");
    });
    t.strictSame(await Promise.all([run("echo"), run("echo")]), [503, 503]);
  });
  t.equal(await run("echo", { said: "later" }), "later");
});

t.test("if only a second thread cannot start, bodies wait for the first", async (t) => {
  const { run } = threads(t, { threads: 2 });
  const first = run("echo", { said: "first" });
  useWorkers(t, function fail() {
    throw new Error("EAGAIN");
  });
  t.strictSame(await Promise.all([first, run("echo", { said: "second" })]), ["first", "second"]);
});
