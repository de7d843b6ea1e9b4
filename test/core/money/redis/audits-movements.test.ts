import t from "tap";
import type { CreditTotal } from "../../../../core/money/hold-store.ts";
import type { Credit } from "../../../../core/money/ledger.ts";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { type MovementHold, movementHoldId } from "../../../../core/money/movement-hold.ts";
import { Audits } from "../../../../core/money/redis/audits.ts";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { recordedLog } from "../../../support/log.ts";
import { ManualMachine } from "../manual-machine.ts";

const AGE_MS = LIFETIMES.unownedMovementMs;
const ROUNDS_PER_AUDIT = LIFETIMES.auditMs / LIFETIMES.heartbeatMs;
const COMMITTED = { accountId: "A", balanceMicroVnd: 1n, creditVersion: 9, creditedMicroVnd: 50n };

/** A process that audits one bucket, on a Redis and a ledger that reply what the test says. */
class Stage {
  readonly machine = new ManualMachine();
  /** The holds of movements that no process has. */
  unowned: MovementHold[] = [];
  /** References of the movements that the ledger has. */
  committed: string[] = [];
  hasHolds = true;
  epoch = "1";
  /** Called when the movements of an account are applied. */
  onCredit = () => {};
  /** The audit cannot read the holds. */
  isAway = false;
  readonly done: string[] = [];
  readonly logged = recordedLog();
  private readonly audits: Audits;
  private readonly bucket: Bucket;

  constructor(members: readonly string[] = ["me"]) {
    const stage = this;
    const { machine, done } = this;
    this.bucket = {
      ...{ name: "b00", process: "me" },
      get epoch() {
        return stage.epoch;
      },
      async run(operation: string, _keys: unknown, args: readonly string[]) {
        done.push([operation, ...args].join(" "));
      },
    } as unknown as Bucket;
    const membership = {
      get view() {
        return {
          hasHolds: stage.hasHolds,
          members: new Map(members.map((process) => [process, "1"])),
        };
      },
      async heldCalls() {
        if (stage.isAway) throw new Error("away");
        return { own: ["c1"], unowned: stage.unowned };
      },
    };
    const options = {
      memberships: new Map([[this.bucket, membership]]),
      holds: {
        mayHaveLost: () => false,
        audit: async (_: unknown, own: readonly string[]) => void done.push(`own ${own}`),
      },
      changes: {
        credit: async ({ accountId, creditVersion, releasedCallIds }: CreditTotal) => {
          done.push(`credit ${accountId} ${creditVersion} ${releasedCallIds}`);
          stage.onCredit();
        },
      },
      ledger: {
        credited: async ({ accountId, reference }: Credit) =>
          this.committed.includes(reference)
            ? { kind: "credited", applied: false, wallet: { ...COMMITTED, accountId } }
            : undefined,
      },
      ...{ everyRounds: 10, times: LIFETIMES, machine, log: this.logged.log },
    };
    // biome-ignore lint/suspicious/noExplicitAny: only the parts that audits use
    this.audits = new Audits(options as any);
  }

  /** Audits once, after some time. Returns what it did, but for the audit of its own holds. */
  async audit(afterMs = 0): Promise<string[]> {
    await this.machine.advance(afterMs);
    this.done.length = 0;
    for (let round = 0; round < ROUNDS_PER_AUDIT; round += 1) await this.audits.round(this.bucket);
    return this.done.filter((each) => !each.startsWith("own"));
  }
}

function holdOf(reference: string, accountId = "A"): MovementHold {
  const movement = { accountId, amountMicroVnd: -5n, reference, kind: "adjustment", reason: null };
  return { accountId, amountMicroVnd: 5, callId: movementHoldId(movement as Credit) };
}

t.test("the hold of a movement that no process has for long is ended", async (t) => {
  const id = holdOf("r1").callId;
  for (const [committed, ended] of [
    [[], `void ${id} `],
    [["r1"], `credit A 9 ${id}`],
  ] as const) {
    const stage = new Stage();
    stage.unowned = [holdOf("r1")];
    stage.committed = [...committed];
    t.strictSame(await stage.audit(), []);
    t.strictSame(await stage.audit(AGE_MS - 1), []);
    t.strictSame(stage.logged.lines, []);
    t.strictSame(await stage.audit(1), [ended]);
    t.match(stage.logged.lines, [{ hold: id, committed: committed.length > 0 }]);
  }
});

t.test("movements that the ledger has are taken in one step for each account", async (t) => {
  const stage = new Stage();
  const [one, two, three, four] = [
    holdOf("r1"),
    holdOf("r2"),
    holdOf("r3", "B"),
    holdOf("r4"),
  ] as const;
  stage.unowned = [one, two, three, four];
  stage.committed = ["r1", "r3", "r4"];
  await stage.audit();
  t.strictSame(await stage.audit(AGE_MS), [
    `void ${two.callId} `,
    `credit A 9 ${one.callId},${four.callId}`,
    `credit B 9 ${three.callId}`,
  ]);
});

t.test("what the ledger had in an earlier epoch is not applied to the next account", async (t) => {
  const stage = new Stage();
  const [one, two] = [holdOf("r1"), holdOf("r2", "B")];
  stage.unowned = [one, two];
  stage.committed = ["r1", "r2"];
  stage.onCredit = () => {
    stage.epoch = "2";
  };
  await stage.audit();
  t.strictSame(await stage.audit(AGE_MS), [`credit A 9 ${one.callId}`]);
});

t.test("the time begins again after a process had the hold, or the bucket had none", async (t) => {
  for (const pause of [
    (stage: Stage) => {
      stage.unowned = [];
    },
    (stage: Stage) => {
      stage.hasHolds = false;
    },
  ]) {
    const stage = new Stage();
    stage.unowned = [holdOf("r1")];
    await stage.audit();
    pause(stage);
    t.strictSame(await stage.audit(AGE_MS), []);
    stage.unowned = [holdOf("r1")];
    stage.hasHolds = true;
    t.strictSame(await stage.audit(AGE_MS), []);
    t.equal((await stage.audit(AGE_MS)).length, 1);
  }
});

t.test("each hold has its own time", async (t) => {
  const stage = new Stage();
  stage.unowned = [holdOf("r1")];
  await stage.audit();
  stage.unowned = [holdOf("r1"), holdOf("r2")];
  await stage.audit(1);
  t.strictSame(await stage.audit(AGE_MS - 1), [`void ${holdOf("r1").callId} `]);
});

t.test("one process of several ends them, and each audits its own holds", async (t) => {
  for (const [members, ends] of [
    [["me", "other"], true],
    [["another", "me"], false],
  ] as const) {
    const stage = new Stage(members);
    stage.unowned = [holdOf("r1")];
    // Each process reads the holds at every second audit at least.
    const first = await stage.audit();
    t.ok(stage.done.includes("own c1"));
    const later = [...first, ...(await stage.audit(AGE_MS)), ...(await stage.audit(AGE_MS))];
    t.equal(later.length > 0, ends, members.join());
  }
});

t.test("an audit that fails is made again at the next time, and hurts nothing", async (t) => {
  const stage = new Stage();
  stage.unowned = [holdOf("r1")];
  await stage.audit();
  stage.isAway = true;
  t.strictSame(await stage.audit(AGE_MS), []);
  stage.isAway = false;
  t.equal((await stage.audit()).length, 1, "the time goes on");
});
