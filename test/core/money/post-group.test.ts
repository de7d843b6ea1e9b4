import t from "tap";
import type { HoldStore, Posted } from "../../../core/money/hold-store.ts";
import type { Posting } from "../../../core/money/outbox-entry.ts";
import { PostGroup } from "../../../core/money/post-group.ts";
import { posting } from "../../support/posting.ts";

const POSTED: Posted = { chargedMicroVnd: 1, writtenOffMicroVnd: 0, duplicate: false };

/** A store that records each batch. It refuses calls without a cost. */
function recordingStore(): { holdStore: Pick<HoldStore, "postAll">; groups: string[][] } {
  const groups: string[][] = [];
  const postAll = (postings: readonly Posting[]) => {
    groups.push(postings.map((each) => each.callId));
    return postings.map((each) => (each.costMicroVnd > 0 ? POSTED : new Error(each.callId)));
  };
  return { holdStore: { postAll }, groups };
}

t.test(
  "the posts of one turn go to the store together, and each gets its own result",
  async (t) => {
    const { holdStore, groups } = recordingStore();
    const group = new PostGroup(holdStore);
    const add = (callId: string, costMicroVnd: number) =>
      group.add(posting({ callId, accountId: "A", costMicroVnd }));
    const first = [add("a", 1), add("b", 0), add("c", 1)];
    t.strictSame(groups, []);
    const answers = await Promise.allSettled(first);
    t.strictSame(
      answers.map((answer) =>
        answer.status === "fulfilled" ? answer.value : answer.reason.message,
      ),
      [POSTED, "b", POSTED],
    );
    await add("d", 1);
    t.strictSame(groups, [["a", "b", "c"], ["d"]]);
  },
);

t.test("an asynchronous store resolves each post by itself", async (t) => {
  const postAll = () => [Promise.resolve(POSTED), Promise.reject(new Error("away"))];
  const group = new PostGroup({ postAll });
  const posts = ["a", "b"].map((callId) => group.add(posting({ callId, accountId: "A" })));
  const [first, second] = await Promise.allSettled(posts);
  t.strictSame(first, { status: "fulfilled", value: POSTED });
  t.ok(second?.status === "rejected" && /away/.test(String(second.reason)));
});
