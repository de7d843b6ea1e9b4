import t from "tap";
import { Backlog } from "../../../core/money/backlog.ts";
import { ManualMachine } from "./manual-machine.ts";

function backlogOf(calls: number, machine = new ManualMachine()): Backlog {
  return new Backlog({ holdStore: { uncommittedCalls: () => calls }, entriesMax: 1_000, machine });
}

t.test("a new call waits for the square of the backlog above the normal one", async (t) => {
  const delays = [
    [0, 0],
    [20, 0],
    [21, 1],
    [118, 50],
    [510, 1_250],
    [1_000, 5_000],
    // Calls that were in flight when the outbox filled up.
    [1_500, 5_000],
  ] as const;
  for (const [calls, delayMs] of delays) {
    t.equal(Math.ceil(backlogOf(calls).delayMs), delayMs, `${calls} calls`);
  }
});

t.test("an outbox is full from its bound", async (t) => {
  t.equal(backlogOf(999).isFull, false);
  t.equal(backlogOf(1_000).isFull, true);
});

t.test("retry-after is the time that the ledger needs for the backlog", async (t) => {
  const machine = new ManualMachine();
  const backlog = backlogOf(1_000, machine);
  for (let batch = 0; batch < 20; batch += 1) {
    await machine.advance(100);
    backlog.committed(10);
  }
  t.equal(backlog.retryAfterSeconds, 10, "100 calls a second");
  for (let batch = 0; batch < 100; batch += 1) {
    await machine.advance(100);
    backlog.committed(1_000);
  }
  t.equal(backlog.retryAfterSeconds, 1, "10,000 calls a second");
});

t.test("retry-after grows while nothing is committed, up to 30 s", async (t) => {
  const machine = new ManualMachine();
  const backlog = backlogOf(1_000, machine);
  await machine.advance(1_000);
  backlog.committed(500);
  t.equal(backlog.retryAfterSeconds, 2);
  const seen = [];
  for (let second = 0; second < 20; second += 5) {
    await machine.advance(5_000);
    seen.push(backlog.retryAfterSeconds);
  }
  t.strictSame(seen, [12, 22, 30, 30]);
});

t.test("retry-after is 30 s before the first commit of a backlog", async (t) => {
  const machine = new ManualMachine();
  await machine.advance(100);
  const backlog = backlogOf(1_000, machine);
  await machine.advance(100);
  t.equal(backlog.retryAfterSeconds, 30);
});
