import type { Test } from "tap";
import { debitOf } from "../../../core/money/debit.ts";
import type { HoldStore } from "../../../core/money/hold-store.ts";
import type { StandingCall } from "../../../core/money/standing.ts";
import { newId } from "../../../core/process/id.ts";
import { MemoryLedger } from "../../support/memory-ledger.ts";
import { posting } from "../../support/posting.ts";
import type { Create } from "./under-test.ts";

const BALANCE = 10_000;
/** More than a page of them. */
const MANY_HOLDS = 2_100;
/** The clock of Redis is that of this machine. */
const RECENT_MS = 60_000;

async function standing(store: HoldStore): Promise<StandingCall[]> {
  const found: StandingCall[] = [];
  for await (const page of store.standing()) found.push(...page);
  return found.sort((one, other) => one.microVnd - other.microVnd);
}

/** Every hold and every uncommitted post is listed, with its age, until it ends. */
export function standingTests(t: Test, create: Create): void {
  t.test("each of very many holds is listed", async (t) => {
    const { store, dispose } = await create(new MemoryLedger());
    t.teardown(dispose);
    const accountId = newId(Date.now());
    const amounts = { balanceMicroVnd: BigInt(BALANCE), creditedMicroVnd: BigInt(BALANCE) };
    await store.load(accountId, async () => ({ accountId, creditVersion: 1, ...amounts }));
    const callIds = Array.from({ length: MANY_HOLDS }, () => newId(Date.now()));
    const taken = { accountId, keyId: "K", amountMicroVnd: 1, floorMicroVnd: 1 };
    const results = await Promise.all(callIds.map((callId) => store.hold({ ...taken, callId })));
    // A store on a small disk has no room for the posts of all.
    const held = callIds.filter((_, at) => results[at]?.kind === "held");
    const listed = new Set((await standing(store)).map(({ callId }) => callId));
    t.strictSame([...listed].sort(), held.sort());
  });

  t.test("holds, and the oldest post, are listed until they end", async (t) => {
    const { store, dispose } = await create(new MemoryLedger());
    t.teardown(dispose);
    const beganMs = Date.now();
    const accountId = newId(beganMs);
    const amounts = { balanceMicroVnd: BigInt(BALANCE), creditedMicroVnd: BigInt(BALANCE) };
    await store.load(accountId, async () => ({ accountId, creditVersion: 1, ...amounts }));
    const hold = (callId: string, keyId: string, amountMicroVnd: number) =>
      store.hold({ callId, accountId, keyId, amountMicroVnd, floorMicroVnd: amountMicroVnd });
    const running = newId(beganMs);
    const ended = newId(beganMs);
    const second = newId(beganMs);
    t.strictSame(await standing(store), []);
    await hold(running, "K", 10);
    await hold(ended, "K", 20);
    await hold(second, "K", 40);
    const post = posting({ callId: ended, accountId, costMicroVnd: 20 });
    await store.post({ ...post, at: beganMs, latencyMs: 0 });

    const listed = await standing(store);
    t.strictSame(
      listed.map(({ kind, callId, reference, microVnd }) => [kind, callId, reference, microVnd]),
      [
        ["hold", running, null, 10],
        ["post", ended, null, 20],
        ["hold", second, null, 40],
      ],
    );
    for (const call of listed) {
      t.equal(call.accountId, accountId);
      t.ok(Math.abs(call.sinceMs - beganMs) < RECENT_MS, `since ${call.sinceMs}`);
      t.not(call.process, "");
    }

    t.equal(store.findUncommitted(ended)?.posting?.callId, ended);
    t.equal(store.findUncommitted(running), undefined);
    await store.void(running, accountId);
    await store.void(second, accountId);
    await store.acknowledge(await store.read(10, 0));
    t.strictSame(await standing(store), []);

    const movement = { accountId, amountMicroVnd: -30n, reference: "a: b", reason: null };
    await store.debit(debitOf({ ...movement, kind: "adjustment" }, beganMs));
    t.match(await standing(store), [{ kind: "post", reference: "a: b", accountId, microVnd: 30 }]);
    await store.acknowledge(await store.read(10, 0));
    t.strictSame(await standing(store), []);
  });
}
