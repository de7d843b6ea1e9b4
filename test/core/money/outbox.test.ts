import t from "tap";
import { entryOf } from "../../../core/money/entry.ts";
import { Outbox } from "../../../core/money/outbox.ts";
import type { StoredEntry } from "../../../core/money/outbox-entry.ts";
import { posting } from "../../support/posting.ts";

const SENT = { atMs: 0, epoch: "5", process: "me" };

/** The entry of a call that costs 70 µđ, at a place in an outbox. */
const entry = (callId: string, place = callId, charged = 70) =>
  entryOf(place, posting({ callId, accountId: "A", costMicroVnd: 70 }), charged, 70 - charged);
const idsOf = (entries: readonly StoredEntry[]) => entries.map(({ entryId }) => entryId).join(" ");

function posted(...callIds: string[]): Outbox {
  const outbox = new Outbox();
  for (const callId of callIds) outbox.post(entry(callId));
  return outbox;
}

t.test("an outbox", async (t) => {
  t.test("returns its oldest posted entries in order, without taking them", async (t) => {
    const outbox = posted("c5", "c6", "c7", "c8");
    t.equal(idsOf(outbox.oldest(3)), "c5 c6 c7");
    t.equal(idsOf(outbox.oldest(9)), "c5 c6 c7 c8");
    t.equal(idsOf(outbox.oldest(0)), "");
    t.equal(outbox.posted.size, 4);
  });

  t.test(
    "gives an entry up once, when the ledger has it at the place where it was posted",
    async (t) => {
      const outbox = posted("c1", "c2", "c3");
      t.equal(outbox.commit(entry("c2", "elsewhere")), undefined);
      t.equal(outbox.commit(entry("c2"))?.entryId, "c2");
      t.equal(outbox.commit(entry("c2")), undefined);
      t.equal(outbox.commit(entry("c9")), undefined);
      t.equal(idsOf(outbox.oldest(9)), "c1 c3");
    },
  );

  t.test("has each call in one state", async (t) => {
    const outbox = new Outbox();
    outbox.keep({ entry: entry("c1", ""), sent: SENT });
    outbox.post(entry("c1", "5|me|1-0"));
    t.strictSame([outbox.unsent.size, outbox.posted.size], [0, 1]);
    outbox.commit(entry("c1", "5|me|1-0"));
    t.strictSame([outbox.unsent.size, outbox.posted.size], [0, 0]);
  });

  t.test(
    "keeps the first of two posts of a call, and drops the second from the disk",
    async (t) => {
      const outbox = new Outbox();
      const dropped: string[] = [];
      for (const name of ["first", "second"])
        outbox.keep({ entry: entry("c1"), drop: () => dropped.push(name) });
      t.strictSame([dropped, outbox.unsent.size], [["second"], 1]);
    },
  );

  t.test("knows the result of a call in every state", async (t) => {
    const outbox = new Outbox();
    t.equal(outbox.result("c1"), undefined);
    outbox.keep({ entry: entry("c1", ""), sent: SENT });
    const inFull = { chargedMicroVnd: 70, writtenOffMicroVnd: 0, duplicate: true };
    t.strictSame(outbox.result("c1"), inFull, "unsent: its cost");
    const inPart = { chargedMicroVnd: 60, writtenOffMicroVnd: 10, duplicate: true };
    outbox.post(entry("c1", "1-0", 60));
    t.strictSame(outbox.result("c1"), inPart, "posted");
    outbox.commit(entry("c1", "1-0"));
    t.strictSame(outbox.result("c1"), inPart, "committed");
    for (const state of ["writing", "left"] as const) {
      outbox.unsent.set("c2", { entry: entry("c2"), sent: SENT, state });
      t.equal(outbox.result("c2"), undefined, `${state}: its caller decides`);
    }
    outbox.unsent.set("c2", { entry: entry("c2"), sent: SENT, state: "voided" });
    t.strictSame(outbox.result("c2"), { ...inFull, chargedMicroVnd: 0 }, "voided: nothing");
  });

  t.test("forgets the results of committed calls after a while, and no other", async (t) => {
    const outbox = posted("waits");
    const one = entry("one");
    const calls = Array.from({ length: 20_000 }, (_, at) => `c${at}`);
    for (const callId of calls) {
      const call = { ...one, posting: { ...one.posting, callId } };
      outbox.post(call);
      outbox.commit(call);
    }
    t.equal(outbox.result("c0"), undefined);
    for (const callId of ["waits", ...calls.slice(-8_192)])
      if (outbox.result(callId) === undefined) t.fail(`${callId} is forgotten`);
  });
});
