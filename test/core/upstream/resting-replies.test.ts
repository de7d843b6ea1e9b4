import { setImmediate as turnOver } from "node:timers/promises";
import t from "tap";
import { rest } from "../../../core/upstream/resting-replies.ts";

t.test("replies that rest", async (t) => {
  t.test("read on at the end of the turn", async (t) => {
    let isRead = false;
    rest(() => {
      isRead = true;
    });
    t.equal(isRead, false);
    await turnOver();
    t.equal(isRead, true);
  });

  t.test("take turns, a few each, if many of them bring enough again at once", async (t) => {
    const REPLIES = 20;
    const TURNS = 15;
    const reads: number[] = [];
    let isOver = false;
    for (let reply = 0; reply < REPLIES; reply += 1) {
      const readOn = () => {
        if (isOver) return;
        reads.push(reply);
        rest(readOn);
      };
      rest(readOn);
    }
    for (let turn = 1; turn <= TURNS; turn += 1) {
      const before = reads.length;
      await turnOver();
      t.ok(reads.length - before <= 8, `${reads.length - before} in turn ${turn}`);
    }
    isOver = true;
    t.ok(reads.length > 2 * REPLIES);
    t.strictSame(
      reads.slice(0, 2 * REPLIES),
      Array.from({ length: 2 * REPLIES }, (_, at) => at % REPLIES),
    );
    await turnOver();
  });
});
