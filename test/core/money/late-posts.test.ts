import t from "tap";
import type { HoldStore, Posted } from "../../../core/money/hold-store.ts";
import { LatePosts } from "../../../core/money/late-posts.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { posting } from "../../support/posting.ts";
import { ManualMachine } from "./manual-machine.ts";

const POSTED: Posted = { chargedMicroVnd: 1, writtenOffMicroVnd: 0, duplicate: false };

/** Posts whose store refuses the calls in `refused`. */
function stage() {
  const machine = new ManualMachine();
  const refused = new Set<string>();
  const tried: string[] = [];
  const post: HoldStore["post"] = async ({ callId }) => {
    tried.push(callId);
    if (refused.has(callId)) throw new Error("the disk is full");
    return POSTED;
  };
  const posts = new LatePosts({ post } as HoldStore, machine);
  const add = (callId: string) => posts.add(posting({ callId, accountId: "A", costMicroVnd: 7 }));
  return { machine, posts, add, refused, tried };
}

t.test("a post that no store took is tried each second until one takes it", async (t) => {
  const { machine, posts, add, refused, tried } = stage();
  refused.add("c1");
  add("c1");
  t.strictSame(tried, [], "not at once");
  await machine.advance(LIFETIMES.applyRetryMs);
  t.strictSame(tried, ["c1"]);
  t.equal(posts.size, 1);
  t.match(posts.unsent(), [{ callId: "c1", accountId: "A", microVnd: 7 }]);
  await machine.advance(2 * LIFETIMES.applyRetryMs);
  t.equal(tried.length, 3);
  refused.clear();
  await machine.advance(LIFETIMES.applyRetryMs);
  t.strictSame([posts.size, posts.unsent(), machine.timersRunning], [0, [], 0]);
  add("c2");
  await machine.advance(LIFETIMES.applyRetryMs);
  t.equal(tried.at(-1), "c2", "and so is a post after the last one was kept");
});

t.test("a post that can never be kept does not delay the others for long", async (t) => {
  const { machine, posts, add, refused, tried } = stage();
  refused.add("never");
  for (const callId of ["never", "c1", "c2"]) add(callId);
  await machine.advance(LIFETIMES.applyRetryMs);
  t.strictSame(tried, ["never"], "the first failure ends a round");
  await machine.advance(LIFETIMES.applyRetryMs);
  t.strictSame(tried, ["never", "c1", "c2", "never"]);
  t.equal(posts.size, 1);
});

t.test("a call that is posted later twice is posted once", async (t) => {
  const { machine, add, tried } = stage();
  add("c1");
  add("c1");
  await machine.advance(5 * LIFETIMES.applyRetryMs);
  t.strictSame(tried, ["c1"]);
});
