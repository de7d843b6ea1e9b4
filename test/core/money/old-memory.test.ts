import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { messagesEndpoint } from "../../../core/catalogue/endpoint.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { Outbox } from "../../../core/money/outbox.ts";
import { Pace } from "../../../core/money/pace.ts";
import { newId } from "../../../core/process/id.ts";
import { recordedLog } from "../../support/log.ts";
import { ManualMachine } from "./manual-machine.ts";

const CALLS = 12_000;
/** Of 4 KB each, which only a call that stays in memory brings to old space. */
const WORDS = 512;
const AT_ONCE = 10;

function oldSpaceBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space");
  return old?.space_used_size ?? 0;
}

/**
 * A full collection moves a table of a Map or Set to old space. The tables that replace it point at each other, and at
 * what each had when it was replaced: so none of that is freed until the next full collection.
 */
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

t.test("calls that have waited do not stay in memory until the next full collection", async (t) => {
  const machine = new ManualMachine();
  const backlog = { delayMs: 50, isFull: false, retryAfterSeconds: 1, calls: 1, committed() {} };
  const pace = new Pace({ backlog, log: recordedLog().log, machine } as never);
  const key = { accountId: "A" };
  let gone = 0;
  let before = 0;
  for (let at = 0; at < CALLS; at += AT_ONCE) {
    for (let each = 0; each < AT_ONCE; each++) {
      const call = { endpoint: messagesEndpoint, gone: false, key, body: Array(WORDS).fill(at) };
      void Promise.resolve(pace.admit(call)).then(() => gone++);
    }
    await machine.advance(LIFETIMES.paceTickMs);
    if (at !== CALLS / 4) continue;
    collect();
    before = oldSpaceBytes();
  }
  const grownMb = (oldSpaceBytes() - before) / 1_048_576;
  t.ok(gone > CALLS / 2, `${gone} calls went on`);
  t.ok(grownMb < 10, `old space grew by ${grownMb.toFixed(1)} MB`);
});

t.test("calls that are committed do not stay either", async (t) => {
  const outbox = new Outbox();
  let before = 0;
  for (let at = 0; at < CALLS; at += AT_ONCE) {
    for (let each = 0; each < AT_ONCE; each++) {
      const posting = { callId: newId(at), body: Array(WORDS).fill(at) };
      const entry = { entryId: `${at + each}`, posting, chargedMicroVnd: 1, writtenOffMicroVnd: 0 };
      outbox.post(entry as never);
    }
    if (outbox.posted.size > 50) for (const entry of outbox.oldest(AT_ONCE)) outbox.commit(entry);
    if (at !== CALLS / 4) continue;
    collect();
    before = oldSpaceBytes();
  }
  const grownMb = (oldSpaceBytes() - before) / 1_048_576;
  t.equal(outbox.posted.size, 50);
  t.ok(grownMb < 10, `old space grew by ${grownMb.toFixed(1)} MB`);
});
