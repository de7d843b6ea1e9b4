import t from "tap";
import { type KeptReply, UnreadReplies } from "../../../core/http/unread-replies.ts";
import { recordedLog } from "../../support/log.ts";

class Reply implements KeptReply {
  keptBytes = 0;

  constructor(
    readonly name: string,
    readonly accountId: string,
    readonly cuts: string[],
  ) {}

  cut(): void {
    this.cuts.push(this.name);
  }
}

function setUp(bytesMax: number) {
  const cuts: string[] = [];
  const { log, lines } = recordedLog();
  const reply = (name: string, accountId: string) => new Reply(name, accountId, cuts);
  return { cuts, lines, reply, unread: new UnreadReplies(bytesMax, log) };
}

t.test("replies that wait for their clients", async (t) => {
  t.test("wait while all of them take no more than the budget", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const [one, two] = [reply("one", "a"), reply("two", "b")];
    unread.wait(one, 40);
    unread.wait(two, 60);
    unread.read(two, 30);
    unread.wait(one, 70);
    t.strictSame([cuts, unread.bytes, unread.cut], [[], 100, 0]);
    unread.release(one);
    unread.release(two);
    unread.release(two);
    t.equal(unread.bytes, 0);
  });

  t.test("lose the one that has waited longest, of the account with the most", async (t) => {
    const { cuts, lines, reply, unread } = setUp(100);
    const [other, first, second] = [reply("other", "b"), reply("first", "a"), reply("second", "a")];
    unread.wait(other, 40);
    unread.wait(first, 30);
    unread.wait(second, 30);
    unread.wait(second, 31);
    t.strictSame([cuts, unread.bytes, unread.cut], [["first"], 71, 1]);
    t.match(lines, [{ account_id: "a", msg: /limits.unread_mb; cuts the one/ }]);
  });

  t.test("keep the one whose client has just read", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const [first, second, third] = [reply("first", "a"), reply("second", "a"), reply("third", "a")];
    unread.wait(first, 40);
    unread.wait(second, 40);
    unread.read(first, 39);
    unread.wait(third, 40);
    t.strictSame(cuts, ["second"]);
  });

  t.test("are cut themselves if there is no other", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    unread.wait(reply("only", "a"), 101);
    t.strictSame([cuts, unread.bytes], [["only"], 0]);
  });
});

t.test("a whole reply that arrives", async (t) => {
  t.test("takes the room of replies that wait", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const arriving = reply("arriving", "a");
    unread.wait(reply("waiting", "b"), 60);
    t.equal(unread.gather(arriving, 40), true);
    t.strictSame(cuts, []);
    t.equal(unread.gather(arriving, 100), true);
    t.strictSame([cuts, unread.bytes], [["waiting"], 100]);
  });

  t.test("is not cut for others that arrive, and gets no room beyond the budget", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const [arriving, late] = [reply("arriving", "a"), reply("late", "b")];
    t.equal(unread.gather(arriving, 60), true);
    t.equal(unread.gather(late, 60), false);
    unread.release(late);
    t.strictSame([cuts, unread.bytes], [[], 60]);
  });

  t.test("cuts none of those that wait if that would not make room for it", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const arriving = reply("arriving", "a");
    t.equal(unread.gather(arriving, 80), true);
    unread.wait(reply("waiting", "b"), 10);
    t.equal(unread.gather(reply("late", "c"), 30), false);
    t.strictSame([cuts, unread.bytes], [[], 90]);
    t.equal(unread.gather(arriving, 100), true);
    t.strictSame(cuts, ["waiting"]);
  });

  t.test("counts for its account once it waits for its client", async (t) => {
    const { cuts, reply, unread } = setUp(100);
    const [whole, other] = [reply("whole", "a"), reply("other", "b")];
    unread.gather(whole, 60);
    unread.wait(whole, 60);
    unread.wait(other, 50);
    t.strictSame([cuts, unread.bytes], [["whole"], 50]);
    unread.release(other);
    t.equal(unread.bytes, 0);
  });
});
