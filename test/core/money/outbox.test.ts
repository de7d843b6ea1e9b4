import t from "tap";
import { Outbox } from "../../../core/money/outbox.ts";
import type { OutboxEntry, StoredEntry } from "../../../core/money/outbox-entry.ts";

/** Enough entries that the outbox drops its gaps twice. */
const MANY = 20_000;

const entry = (position: number) =>
  ({ entryId: String(position), posting: { callId: `c${position}` } }) as OutboxEntry;
const idsOf = (entries: readonly StoredEntry[]) => entries.map(({ entryId }) => entryId).join(" ");

function filled(first: number, last: number): Outbox {
  const outbox = new Outbox(first);
  for (let at = first; at <= last; at += 1) outbox.add(entry(at), at);
  return outbox;
}

t.test("an outbox", async (t) => {
  t.test("returns its oldest entries in order, without taking them", async (t) => {
    const outbox = filled(5, 8);
    t.equal(idsOf(outbox.peek(3)), "5 6 7");
    t.equal(idsOf(outbox.peek(9)), "5 6 7 8");
    t.equal(idsOf(outbox.peek(0)), "");
    t.strictSame([outbox.size, outbox.takenThrough], [4, 4]);
  });

  t.test("is taken through an entry once all before it are taken", async (t) => {
    const outbox = filled(5, 8);
    t.equal(outbox.take(6)?.entryId, "6");
    t.strictSame([outbox.size, outbox.takenThrough], [3, 4]);
    t.equal(idsOf(outbox.peek(9)), "5 7 8");
    t.equal(outbox.take(6), undefined, "taken before");
    t.equal(outbox.size, 3);
    t.equal(outbox.take(5)?.entryId, "5");
    t.strictSame([outbox.size, outbox.takenThrough], [2, 6]);
    t.equal(outbox.take(5), undefined, "below all that is left");
    t.equal(outbox.take(9), undefined, "above all");
    t.equal(idsOf(outbox.peek(9)), "7 8");
  });

  t.test("goes on behind a gap in the positions", async (t) => {
    const outbox = filled(1, 1);
    outbox.add(entry(4), 4);
    t.strictSame([idsOf(outbox.peek(9)), outbox.size], ["1 4", 2]);
    t.equal(outbox.take(3), undefined);
    outbox.take(1);
    t.equal(outbox.takenThrough, 3);
    t.equal(outbox.take(4)?.entryId, "4");
    t.strictSame([outbox.size, outbox.takenThrough], [0, 4]);
  });

  t.test("finds an entry by its call, until it is taken", async (t) => {
    const outbox = filled(1, 3);
    t.equal(outbox.find("c2")?.entryId, "2");
    t.equal(outbox.find("c9"), undefined);
    outbox.take(2);
    t.equal(outbox.find("c2"), undefined);
    t.equal(outbox.find("c3")?.entryId, "3");
  });

  t.test("keeps its positions however many entries it drops", async (t) => {
    const outbox = filled(1, MANY);
    const taken = Array.from({ length: MANY - 1 }, (_, at) => outbox.take(at + 1)?.entryId);
    t.notOk(taken.includes(undefined));
    t.strictSame([outbox.size, outbox.takenThrough], [1, MANY - 1]);
    outbox.add(entry(MANY + 1), MANY + 1);
    t.equal(idsOf(outbox.peek(9)), `${MANY} ${MANY + 1}`);
    t.equal(outbox.take(MANY + 1)?.entryId, String(MANY + 1));
    t.equal(outbox.take(MANY)?.entryId, String(MANY));
    t.equal(outbox.takenThrough, MANY + 1);
  });
});
