import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t from "tap";

const SUPERVISOR = fileURLToPath(new URL("./supervisor-child.js", import.meta.url));
const MODULE = new URL("../../../core/process/supervisor.js", import.meta.url).href;

/** A supervisor, the output of its workers, and their process ids in the order of their starts. */
class Supervisor {
  readonly process: ChildProcess;
  private readonly lines: AsyncIterator<string>;

  constructor(...args: string[]) {
    this.process = spawn(process.execPath, [SUPERVISOR, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.ok(this.process.stdout);
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  /** The process id in the next line, which must begin with `what`. */
  async next(what: string): Promise<number> {
    const { value, done } = await this.lines.next();
    assert.ok(!done, `ended before: ${what}`);
    const [verb, pid] = String(value).split(" ");
    assert.equal(verb, what);
    return Number(pid);
  }

  async both(what: string): Promise<number[]> {
    return [await this.next(what), await this.next(what)].sort();
  }
}

t.test("a dead worker is started again, and signals reach all workers", async (t) => {
  const supervisor = new Supervisor();
  const [first, second] = await supervisor.both("start");
  process.kill(first!, "SIGKILL");
  const third = await supervisor.next("start");
  supervisor.process.kill("SIGHUP");
  t.strictSame(await supervisor.both("hup"), [second, third].sort());
  supervisor.process.kill("SIGTERM");
  await supervisor.both("term");
  const [code] = await once(supervisor.process, "exit");
  t.equal(code, 0);
});

t.test("a worker whose event loop does not turn is killed and started again", async (t) => {
  const supervisor = new Supervisor("stuck");
  const pids = await supervisor.both("start");
  process.kill(pids[0]!, "SIGHUP");
  t.equal(await supervisor.next("hup"), pids[0]);
  const next = await supervisor.next("start");
  t.notOk(pids.includes(next));
  // The other one still replies to it.
  process.kill(next, "SIGUSR2");
  t.equal(await supervisor.next("heard"), pids[1]);
  supervisor.process.kill("SIGTERM");
  await supervisor.both("term");
  await once(supervisor.process, "exit");
});

t.test("a worker that cannot be started is tried again, until it can", async (t) => {
  const supervisor = new Supervisor("missing");
  const [first, second] = await supervisor.both("start");
  supervisor.process.kill("SIGUSR2");
  await supervisor.next("missing");
  process.kill(first!, "SIGKILL");
  await supervisor.next("cannot");
  supervisor.process.kill("SIGUSR2");
  await supervisor.next("back");
  const third = await supervisor.next("start");
  supervisor.process.kill("SIGTERM");
  t.strictSame(await supervisor.both("term"), [second, third].sort());
  const [code] = await once(supervisor.process, "exit");
  t.equal(code, 0);
});

t.test("the last report of a silent worker reaches one that asks for the first time", async (t) => {
  const supervisor = new Supervisor("silent");
  const pids = [...(await supervisor.both("start")), await supervisor.next("start")];
  const [silent, second, third] = pids as [number, number, number];
  process.kill(second, "SIGUSR2");
  t.strictSame(await supervisor.both("heard"), [silent, third].sort());
  process.kill(silent, "SIGSTOP");
  process.kill(third, "SIGUSR2");
  t.strictSame(await supervisor.both("heard"), [silent, second].sort());
  process.kill(silent, "SIGCONT");
  supervisor.process.kill("SIGTERM");
  await once(supervisor.process, "exit");
});

t.test("workers that cannot start end the supervisor with an error", async (t) => {
  const supervisor = new Supervisor("broken");
  const [code] = await once(supervisor.process, "exit");
  t.equal(code, 1);
});

t.test("workers do not outlive a supervisor that is killed", async (t) => {
  const supervisor = new Supervisor();
  const pids = await supervisor.both("start");
  supervisor.process.kill("SIGKILL");
  t.strictSame(await supervisor.both("orphan"), pids);
});

t.test("a worker ends if its supervisor died while it started", async (t) => {
  const program = `
import { whenOrphaned } from "${MODULE}";
setInterval(() => process.connected || whenOrphaned(() => process.exit(7)), 10);`;
  const worker = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  t.teardown(() => worker.kill("SIGKILL"));
  worker.disconnect();
  const [code] = await once(worker, "exit");
  t.equal(code, 7);
});

t.test("a gateway that another program supervises is no worker", async (t) => {
  const program = `
import { isWorker } from "${MODULE}";
process.exit(isWorker() ? 1 : 0);`;
  // As pm2 starts it.
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  t.strictSame(await once(child, "exit"), [0, null]);
});
