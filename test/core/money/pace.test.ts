import t from "tap";
import { messagesEndpoint, SERVES_NOTHING } from "../../../core/catalogue/endpoint.ts";
import { Backlog } from "../../../core/money/backlog.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { Pace } from "../../../core/money/pace.ts";
import type { Call } from "../../../core/plugin/call.ts";
import type { Refusal } from "../../../core/wire/refusal.ts";
import { recordedLog } from "../../support/log.ts";
import { ManualMachine } from "./manual-machine.ts";

const ENTRIES_MAX = 1_000;
/** A backlog whose delay is 1,250 ms. */
const HALF_FULL = 510;

class Stage {
  readonly machine = new ManualMachine();
  readonly logged = recordedLog();
  uncommitted = 0;
  readonly backlog = new Backlog({
    holdStore: { uncommittedCalls: () => this.uncommitted },
    entriesMax: ENTRIES_MAX,
    machine: this.machine,
  });
  readonly pace = new Pace({ backlog: this.backlog, log: this.logged.log, machine: this.machine });
  /** Names of calls that may go on, in order. */
  readonly gone: string[] = [];
  readonly refused: Refusal[] = [];

  /** Returns true if the call may go on at once. */
  admit(name: string, accountId = name, fields: object = {}): boolean {
    const verdict = this.pace.admit(callOf(accountId, fields));
    if (!(verdict instanceof Promise)) {
      if (verdict !== undefined) this.refused.push(verdict);
      return verdict === undefined;
    }
    void verdict.then((late) => {
      if (late === undefined) this.gone.push(name);
      else this.refused.push(late);
    });
    return false;
  }
}

function callOf(accountId: string, fields: object): Call {
  return { endpoint: messagesEndpoint, gone: false, key: { accountId }, ...fields } as Call;
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `c${at}`);
}

t.test("no call waits for a normal backlog", async (t) => {
  const stage = new Stage();
  for (const uncommitted of [0, 20]) {
    stage.uncommitted = uncommitted;
    t.equal(stage.admit("call"), true);
  }
  t.equal(stage.machine.timersRunning, 0);
});

t.test("calls wait for the delay of the backlog, and go on in order", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  const all = names(100);
  for (const name of all) t.equal(stage.admit(name, "A"), false);
  await stage.machine.advance(125);
  t.ok(stage.gone.length >= 8 && stage.gone.length <= 11, `${stage.gone.length} of 100 after 10 %`);
  // The rest leave more slowly, since no others arrive.
  await stage.machine.advance(6_000);
  t.ok(stage.gone.length > 90);
  t.strictSame(stage.gone, all.slice(0, stage.gone.length));
  t.strictSame(stage.refused, []);
  t.equal(stage.pace.waitingCalls, 100 - stage.gone.length);
});

t.test("clients that call again at once slow down to the rate of the ledger", async (t) => {
  const stage = new Stage();
  const { machine } = stage;
  const perTick = 5;
  let served = 0;
  let uncommittedMost = 0;
  const client = async () => {
    for (;;) {
      const verdict = await stage.pace.admit(callOf("A", {}));
      if (verdict !== undefined) return stage.refused.push(verdict);
      await new Promise<void>((resolve) => void machine.after(1, resolve));
      served += 1;
      stage.uncommitted += 1;
    }
  };
  for (let connection = 0; connection < 64; connection += 1) void client();
  for (let tick = 0; tick < 2_000; tick += 1) {
    await machine.advance(10);
    stage.uncommitted = Math.max(0, stage.uncommitted - perTick);
    uncommittedMost = Math.max(uncommittedMost, stage.uncommitted);
  }
  t.strictSame(stage.refused, []);
  t.ok(uncommittedMost < ENTRIES_MAX / 2, `${uncommittedMost} uncommitted at most`);
  t.ok(served > 0.9 * 2_000 * perTick, `the ledger is busy: ${served} served`);
});

t.test("the time that calls wait is counted, while they wait and after it", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  stage.admit("first");
  stage.admit("second");
  await stage.machine.advance(5);
  t.equal(stage.pace.waitedMs, 10);
  await stage.pace.stop();
  await stage.machine.advance(1_000);
  t.equal(stage.pace.waitedMs, 10);
  t.equal(stage.pace.waitingCalls, 0);
});

t.test("an account with many calls does not delay the call of another", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  for (const name of names(500)) stage.admit(name, "busy");
  stage.admit("other");
  await stage.machine.advance(LIFETIMES.paceTickMs);
  t.ok(stage.gone.includes("other"), "its turn is the second one");
  t.ok(stage.gone.length < 10, `only ${stage.gone.length} went on`);
});

t.test("clients that left while they waited are let go, and the pace ends", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  for (const name of names(3)) t.equal(stage.admit(name, "A", { gone: true }), false);
  // No delay is left: the next tick lets all of them go on.
  stage.uncommitted = 0;
  await stage.machine.advance(2 * LIFETIMES.paceTickMs);
  t.equal(stage.pace.waitingCalls, 0);
  t.equal(stage.machine.timersRunning, 0);
});

t.test("a call gets nothing of the turn of those that left before it came", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  stage.admit("left", "A", { gone: true });
  await stage.machine.advance(1_500);
  t.equal(stage.pace.waitingCalls, 0);
  stage.admit("next");
  await stage.machine.advance(2 * LIFETIMES.paceTickMs);
  t.equal(stage.gone.includes("next"), false, "it waits for its own delay");
});

t.test("no call overtakes waiting ones when the backlog is gone", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  stage.admit("first", "A");
  stage.uncommitted = 0;
  t.equal(stage.admit("second", "A"), false);
  await stage.machine.advance(LIFETIMES.paceTickMs);
  t.strictSame(stage.gone, ["first", "second"]);
  t.equal(stage.admit("third"), true);
  t.equal(stage.machine.timersRunning, 0);
});

t.test("a call whose client has left takes the turn of no other", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  for (const name of names(50)) stage.admit(name, "A", { gone: true });
  for (const name of ["a", "b", "c"]) stage.admit(name, "A");
  await stage.machine.advance(100);
  t.ok(
    stage.gone.includes("a"),
    "4 of 53 are due after 100 ms; the first that is there is among them",
  );
});

t.test("a call that waits too long is refused, even if its account is not due", async (t) => {
  const stage = new Stage();
  stage.uncommitted = ENTRIES_MAX - 1;
  for (const name of names(400)) stage.admit(name, "busy");
  await stage.machine.advance(LIFETIMES.paceWaitMsMax + LIFETIMES.paceTickMs);
  t.equal(stage.gone.length + stage.refused.length, 400, "all waits have ended");
  t.ok(stage.refused.length > 0);
  t.equal(stage.refused[0]?.status, 503);
  t.equal(stage.machine.timersRunning, 0);
});

t.test("a full outbox refuses new calls at once, and waiting ones at their turn", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  stage.admit("waiting");
  await stage.machine.advance(5);
  stage.backlog.committed(ENTRIES_MAX);
  stage.uncommitted = ENTRIES_MAX;
  t.equal(stage.admit("new"), false);
  t.equal(stage.refused.length, 1);
  t.strictSame(stage.pace.refusal(), stage.refused[0]);
  t.strictSame(stage.refused[0]?.headers, ["retry-after", "1"]);
  await stage.machine.advance(LIFETIMES.paceWaitMsMax);
  t.equal(stage.refused.length, 2);
  t.strictSame(stage.refused[1]?.headers, ["retry-after", "5"], "no commit for 5 s");
  t.strictSame(stage.gone, []);
});

t.test("a thousand refusals make one line in the log", async (t) => {
  const stage = new Stage();
  stage.uncommitted = ENTRIES_MAX;
  for (const name of names(1_000)) stage.admit(name);
  t.equal(stage.refused.length, 1_000);
  t.equal(stage.logged.lines.length, 1);
});

t.test("a stop lets waiting calls go on, and later ones too", async (t) => {
  const stage = new Stage();
  stage.uncommitted = HALF_FULL;
  for (const name of ["a", "b"]) stage.admit(name);
  await stage.pace.stop();
  t.strictSame(stage.gone, ["a", "b"]);
  t.equal(stage.admit("late"), true);
});

t.test("routes that serve no model never wait", async (t) => {
  const stage = new Stage();
  stage.uncommitted = ENTRIES_MAX;
  t.equal(stage.admit("balance", "A", { endpoint: SERVES_NOTHING }), true);
});
