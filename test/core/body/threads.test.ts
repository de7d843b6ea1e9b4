import { createRequire } from "node:module";
import t, { type Test } from "tap";
import { BodyThreads, type ThreadLimits } from "../../../core/body/threads.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { recordedLog } from "../../support/log.ts";
import { keyOf } from "../../support/plugin-desk.ts";
import { until } from "../../support/until.ts";

const workOf = (name: string) => new URL(`./thread-work/${name}.js`, import.meta.url);
const callOf = (id = "K", accountId = id) => ({
  ...{ id: "call", key: keyOf({ id, accountId }), gone: false },
});
const BYTES = Buffer.from('{"model":"m"}');

function threads(t: Test, limits: Partial<ThreadLimits> = {}): BodyThreads {
  const made = new BodyThreads(recordedLog().log, limits);
  t.teardown(() => made.stop());
  return made;
}

function echo(made: BodyThreads, said: string, call = callOf(), wait?: SharedArrayBuffer) {
  return made.run(call, workOf("echo"), { said, ...(wait && { wait }) }, BYTES);
}

/** The status of a refusal, or what was said. */
function outcomeOf(result: unknown): unknown {
  return isRefusal(result) ? result.status : (result as { said: string }).said;
}

async function outcomesOf(all: readonly Promise<unknown>[]): Promise<unknown[]> {
  return (await Promise.all(all)).map(outcomeOf);
}

/** A flag that threads wait for, and its release. */
function held() {
  const wait = new SharedArrayBuffer(4);
  return {
    wait,
    release() {
      Atomics.store(new Int32Array(wait), 0, 1);
      Atomics.notify(new Int32Array(wait), 0);
    },
  };
}

t.test("work runs in a thread on a copy of the bytes", async (t) => {
  const result = await echo(threads(t), "hello");
  t.strictSame(result, { said: "hello", bytes: BYTES.length });
  t.equal(BYTES.toString(), '{"model":"m"}');
});

for (const [what, work, limits, err] of [
  ["takes all memory of its thread", "grow", { heapMb: 32 }, { code: "ERR_WORKER_OUT_OF_MEMORY" }],
  ["does not end", "spin", { jobMs: 1_500 }, { type: "AbortError" }],
  ["ends its thread", "exit", {}, { message: "worker exited with code: 0" }],
] as const) {
  t.test(`a body that ${what} gets 413, and those behind it their results`, async (t) => {
    const { log, lines } = recordedLog();
    const made = new BodyThreads(log, { threads: 1, ...limits });
    t.teardown(() => made.stop());
    const breaks = made.run(callOf(), workOf(work), {}, BYTES);
    const rest = ["a", "b"].map((said) => echo(made, said));
    t.strictSame(await outcomesOf([breaks, ...rest]), [413, "a", "b"]);
    t.equal(outcomeOf(await echo(made, "later")), "later");
    t.match(lines, [{ call_id: "call", key_id: "K", bytes: BYTES.length, err }]);
  });
}

t.test("a body beside one that breaks its thread gets its result", async (t) => {
  const made = threads(t, { threads: 2, heapMb: 32 });
  const { wait, release } = held();
  const beside = echo(made, "beside", callOf("other"), wait);
  const breaks = made.run(callOf(), workOf("grow"), {}, BYTES);
  t.equal(outcomeOf(await breaks), 413);
  release();
  t.equal(outcomeOf(await beside), "beside");
});

t.test("work that throws rejects; a string or stack that is too large gets 413", async (t) => {
  const made = threads(t);
  const run = (isTooMuch: boolean) => made.run(callOf(), workOf("throws"), { isTooMuch }, BYTES);
  await t.rejects(run(false), { message: "a bug" });
  t.equal(outcomeOf(await run(true)), 413);
  t.equal(outcomeOf(await echo(made, "later")), "later");
});

t.test(
  "beyond the bytes that may wait, an account gets 429 and all get 503, with retry-after",
  async (t) => {
    const leastBytes = 2 * BYTES.length;
    const own2 = { waitingBytesOfAccountMax: 2 * leastBytes };
    const limits = { leastBytes, waitingBytesMax: 4 * leastBytes, ...own2 };
    const made = threads(t, { threads: 1, ...limits });
    const { wait, release } = held();
    const running = echo(made, "running", callOf(), wait);
    const own = [1, 2, 3].map((said) => echo(made, `own ${said}`, callOf(`key ${said}`, "K")));
    const others = ["A", "B", "C"].map((id) => echo(made, id, callOf(id)));
    const [tooMany, busy] = await Promise.all([own[2], others[2]]);
    t.match(tooMany, { status: 429, code: "rate_limit_exceeded", headers: ["retry-after", "1"] });
    t.match(busy, { status: 503, headers: ["retry-after", "1"] });
    release();
    const all = await outcomesOf([running, ...own, ...others]);
    t.strictSame(all, ["running", "own 1", "own 2", 429, "A", "B", 503]);
  },
);

t.test("a single body may always wait, however long it is", async (t) => {
  const made = threads(t, { threads: 1, waitingBytesMax: 1, waitingBytesOfAccountMax: 1 });
  const { wait, release } = held();
  const running = echo(made, "running", callOf(), wait);
  const waits = echo(made, "waits", callOf());
  t.equal(made.waiting, 1);
  release();
  t.strictSame(await outcomesOf([running, waits]), ["running", "waits"]);
  t.equal(made.waiting, 0);
});

t.test("an account has a second thread only if no other one waits", async (t) => {
  const made = threads(t, { threads: 2 });
  const first = held();
  const order: string[] = [];
  const note = (said: string, id: string, wait?: SharedArrayBuffer) =>
    echo(made, said, callOf(id), wait).then(() => order.push(said));
  const second = held();
  const running = [note("first", "greedy", first.wait), note("second", "greedy", second.wait)];
  const waiting = [note("greedy", "greedy"), note("honest", "honest")];
  second.release();
  await Promise.all(waiting);
  t.ok(order.indexOf("honest") < order.indexOf("greedy"));
  first.release();
  await Promise.all(running);
});

t.test(
  "two large bodies are not worked on at the same time, and a shorter one passes them",
  async (t) => {
    const made = threads(t, { threads: 2, largeBytesMin: BYTES.length + 1 });
    const large = Buffer.alloc(BYTES.length + 1);
    const order: string[] = [];
    const { wait, release } = held();
    const run = (said: string, bytes: Buffer, flag?: SharedArrayBuffer) =>
      made
        .run(callOf(said), workOf("echo"), { said, ...(flag && { wait: flag }) }, bytes)
        .then(() => order.push(said));
    const running = run("large", large, wait);
    const second = run("second", large);
    await run("short", BYTES);
    release();
    await Promise.all([running, second]);
    t.strictSame(order, ["short", "large", "second"]);
  },
);

t.test("a body that a thread may take now is taken, however many bytes wait", async (t) => {
  const made = threads(t, { threads: 2, largeBytesMin: BYTES.length + 1, waitingBytesMax: 1 });
  const large = Buffer.alloc(BYTES.length + 1);
  const { wait, release } = held();
  const run = (said: string, input = {}) =>
    made.run(callOf(said), workOf("echo"), { said, ...input }, large);
  const running = [run("large", { wait }), run("waits")];
  t.equal(outcomeOf(await run("too many")), 503);
  t.equal(outcomeOf(await echo(made, "short")), "short");
  release();
  t.strictSame(await outcomesOf(running), ["large", "waits"]);
});

t.test("large bodies leave a quarter of the bytes that wait to shorter ones", async (t) => {
  const largeBytesMin = 2 * BYTES.length;
  const made = threads(t, { threads: 1, largeBytesMin, waitingBytesMax: 8 * BYTES.length });
  const large = Buffer.alloc(largeBytesMin);
  const { wait, release } = held();
  const running = echo(made, "running", callOf(), wait);
  const names = ["A", "B", "C", "D"];
  const run = (said: string) => made.run(callOf(said), workOf("echo"), { said }, large);
  const all = [...names.map(run), ...names.slice(0, 3).map((said) => echo(made, said))];
  t.equal(outcomeOf(await all[3]), 503);
  release();
  t.strictSame(await outcomesOf([running, ...all]), [
    ...["running", "A", "B", "C", 503],
    ...["A", "B", 503],
  ]);
});

t.test("accounts take turns, however many keys one has", async (t) => {
  const made = threads(t, { threads: 1 });
  const { wait, release } = held();
  const order: string[] = [];
  const note = (said: string, account: string, flag?: SharedArrayBuffer) =>
    echo(made, said, callOf(said, account), flag).then(() => order.push(said));
  const all = [note("g1", "greedy", wait), note("g2", "greedy"), note("g3", "greedy")];
  all.push(note("h1", "honest"), note("h2", "honest"));
  release();
  await Promise.all(all);
  t.strictSame(order, ["g1", "h1", "g2", "h2", "g3"]);
});

t.test(
  "accounts take turns by the bytes of their bodies, also of one that sends the next in time",
  async (t) => {
    const leastBytes = 5 * BYTES.length;
    const made = threads(t, { threads: 1, leastBytes });
    const long = Buffer.alloc(3 * leastBytes);
    const { wait, release } = held();
    const order: string[] = [];
    const note = (said: string, account: string, bytes: Buffer, flag?: SharedArrayBuffer) =>
      made
        .run(callOf(said, account), workOf("echo"), { said, ...(flag && { wait: flag }) }, bytes)
        .then(() => order.push(said));
    const all = [note("l1", "long", long, wait), note("l2", "long", long)];
    const shorts = ["s1", "s2", "s3", "s4"].map((said) => note(said, "short", BYTES));
    all.push(...shorts, shorts[0]?.then(() => note("l3", "long", long)) as Promise<number>);
    release();
    await Promise.all(all);
    t.strictSame(order, ["l1", "s1", "s2", "s3", "l2", "s4", "l3"]);
  },
);

t.test("the body of a client that left takes no room of those that wait", async (t) => {
  const made = threads(t, { threads: 1, waitingBytesMax: BYTES.length });
  const { wait, release } = held();
  const running = echo(made, "running", callOf(), wait);
  const call = callOf("left");
  const left = echo(made, "left", call);
  call.gone = true;
  const next = echo(made, "next", callOf("next"));
  t.equal(outcomeOf(await left), 503);
  release();
  t.strictSame(await outcomesOf([running, next]), ["running", "next"]);
});

t.test("the bodies of clients that left cost their account no turns", async (t) => {
  const made = threads(t, { threads: 1 });
  const { wait, release } = held();
  const order: string[] = [];
  const running = echo(made, "running", callOf(), wait);
  const left = ["l1", "l2"].map((said) => {
    const call = callOf(said, "A");
    return { call, result: echo(made, said, call) };
  });
  const note = (said: string, account: string) =>
    echo(made, said, callOf(said, account)).then(() => order.push(said));
  const all = [note("a", "A"), note("b1", "B"), note("b2", "B")];
  for (const { call } of left) call.gone = true;
  release();
  await Promise.all([running, ...all]);
  t.strictSame(order, ["a", "b1", "b2"]);
  t.strictSame(await outcomesOf(left.map(({ result }) => result)), [503, 503]);
});

t.test("the body of a client that left while it waited is not worked on", async (t) => {
  const made = threads(t, { threads: 1, heapMb: 32 });
  const { wait, release } = held();
  const running = echo(made, "running", callOf(), wait);
  const call = callOf();
  // This work would break the thread.
  const left = made.run(call, workOf("grow"), {}, BYTES);
  const next = echo(made, "next");
  call.gone = true;
  release();
  t.strictSame(await outcomesOf([running, left, next]), ["running", 503, "next"]);
});

t.test(
  "a stop ends threads: running and waiting bodies get 503, and so do later ones",
  async (t) => {
    const made = new BodyThreads(recordedLog().log, { threads: 1 });
    const spins = made.run(callOf(), workOf("spin"), {}, BYTES);
    const waits = echo(made, "waits");
    await made.stop();
    t.strictSame(await outcomesOf([spins, waits, echo(made, "later")]), [503, 503, 503]);
    t.equal(made.threadCount, 0);
  },
);

t.test("a thread without work ends, and another starts", async (t) => {
  const made = threads(t, { idleMs: 10 });
  t.equal(outcomeOf(await echo(made, "first")), "first");
  await until("the thread has ended", () => made.threadCount === 0);
  t.notOk(made.isReady);
  t.equal(outcomeOf(await echo(made, "second")), "second");
});

t.test("a thread is started ahead of the bodies that need it", async (t) => {
  const made = threads(t);
  made.warmUp();
  made.warmUp();
  await until("the thread has started", () => made.isReady);
  t.equal(made.threadCount, 1);
});

/** More bytes than there is memory for. */
const ENDLESS = { length: Number.MAX_SAFE_INTEGER } as Uint8Array;

t.test(
  "a body that cannot be copied to a thread gets 503, and those beside it results",
  async (t) => {
    const max = Number.POSITIVE_INFINITY;
    const { log, lines } = recordedLog();
    const limits = { waitingBytesMax: max, waitingBytesOfAccountMax: max };
    const made = new BodyThreads(log, { threads: 1, ...limits });
    t.teardown(() => made.stop());
    const all = [echo(made, "first"), made.run(callOf(), workOf("echo"), {}, ENDLESS)];
    all.push(echo(made, "last"));
    t.strictSame(await outcomesOf(all), ["first", 503, "last"]);
    t.match(lines, [{ call_id: "call", err: { type: "RangeError" } }]);
  },
);

t.test("bodies get 503 while no thread can start, and results once one can", async (t) => {
  const workerThreads = createRequire(import.meta.url)("node:worker_threads");
  const { Worker } = workerThreads;
  const made = threads(t, { threads: 1 });
  workerThreads.Worker = function fail() {
    throw new Error("EAGAIN");
  };
  t.teardown(() => {
    workerThreads.Worker = Worker;
  });
  t.strictSame(await outcomesOf([echo(made, "a"), echo(made, "b")]), [503, 503]);
  workerThreads.Worker = Worker;
  for (const said of ["later", "and again"]) t.equal(outcomeOf(await echo(made, said)), said);
});

t.test(
  "a body gets 503 at once if its thread ends while it starts, and so does the next",
  async (t) => {
    const workerThreads = createRequire(import.meta.url)("node:worker_threads");
    const { Worker } = workerThreads;
    const { log, lines } = recordedLog();
    const made = new BodyThreads(log, { threads: 1 });
    workerThreads.Worker = class extends Worker {
      constructor() {
        super("throw new Error('cannot load')", { eval: true });
      }
    };
    t.teardown(() => {
      workerThreads.Worker = Worker;
      return made.stop();
    });
    for (const said of ["a", "b"]) t.equal(outcomeOf(await echo(made, said)), 503);
    t.match(lines, [{ err: { message: "cannot load" } }, { call_id: "call" }]);
    workerThreads.Worker = Worker;
    t.equal(outcomeOf(await echo(made, "later")), "later");
    t.ok(made.isReady);
  },
);
