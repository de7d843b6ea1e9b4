import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { FewAtOnce } from "../../../../core/money/redis/few-at-once.ts";
import type { Heartbeat } from "../../../../core/money/redis/heartbeat.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { Rounds } from "../../../../core/money/redis/rounds.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { ManualMachine } from "../manual-machine.ts";

/** Rounds that end when the test says so. */
function heldRounds() {
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const round = (n: number) => async () => {
    begun.push(n);
    await new Promise<void>((resolve) => ends.push(resolve));
    return 1_000;
  };
  return { ends, begun, round };
}

function twelveRounds(gate: FewAtOnce) {
  const held = heldRounds();
  return { ...held, all: Array.from({ length: 12 }, (_, n) => gate.run(held.round(n))) };
}

t.test("a process that looks at all its buckets has four looks under way", async (t) => {
  const { ends, begun, round } = heldRounds();
  const memberships = Array.from({ length: 64 }, (_, n) => ({
    settled: { isSettled: false },
    step: round(n),
  }));
  const heartbeat = { start() {}, async stop() {} };
  const rounds = new Rounds({
    pulse: heartbeat as unknown as Heartbeat,
    memberships: memberships as unknown as Membership[],
    times: { heartbeatMs: 1_000, leaseMs: 10_000 },
    ...{ machine: new ManualMachine(), client: {} as RedisCommands, prefix: "t" },
  });
  rounds.start();
  await nextTurn();
  t.equal(begun.length, 4);
  for (let ended = 0; ended < 64; ended++) {
    ends[ended]?.();
    await nextTurn();
    t.ok(begun.length - ended - 1 <= 4);
  }
  t.strictSame(
    begun,
    memberships.map((_, n) => n),
  );
  await rounds.stop();
});

t.test("rounds that get no reply do not keep others waiting", async (t) => {
  const machine = new ManualMachine();
  const { ends, begun, all } = twelveRounds(new FewAtOnce(machine));
  await nextTurn();
  t.equal(begun.length, 4);
  await machine.advance(LIFETIMES.roundCountedMs);
  t.equal(begun.length, 8);
  // Late replies make no room again.
  for (const end of ends.splice(0, 4)) end();
  await nextTurn();
  t.equal(begun.length, 8);
  for (const end of ends.splice(0, 4)) end();
  await nextTurn();
  t.equal(begun.length, 12);
  for (const end of ends) end();
  await Promise.all(all);
});

t.test("a stop does not wait for rounds to get their turn", async (t) => {
  const gate = new FewAtOnce(new ManualMachine());
  const { ends, begun, round, all } = twelveRounds(gate);
  gate.open();
  all.push(gate.run(round(12)));
  await nextTurn();
  t.equal(begun.length, 13);
  for (const end of ends) end();
  await Promise.all(all);
});

t.test("a round that fails makes room", async (t) => {
  const gate = new FewAtOnce(new ManualMachine());
  for (let n = 0; n < 10; n++) {
    await t.rejects(gate.run(() => Promise.reject(new Error("away"))));
  }
  t.equal(await gate.run(() => Promise.resolve(1)), 1);
});
