import t from "tap";
import { FailureDetector } from "../../../../core/money/redis/failure-detector.ts";
import { Peers } from "../../../../core/money/redis/peers.ts";
import { type BucketView, isAbandoned } from "../../../../core/money/redis/view.ts";

const LEASE_MS = 1_000;

/** A view of these members and joining processes: a name, and its heartbeat after a dot. */
function view(members: readonly string[], joining: readonly string[] = []): BucketView {
  const part = (text: string) => text.split(".") as [string, string];
  return {
    epoch: "1",
    operations: 0,
    reaped: false,
    acceptsLoads: true,
    members: members.map(part).map(([process, beat]) => ({ process, beat, verified: true })),
    joining: new Map(joining.map(part)),
    orphans: new Map(),
    server: "s",
    version: "1",
    hasHolds: false,
    edition: "",
    isListed: true,
    isUpdated: false,
  };
}

t.test("a process is silent once its heartbeat has been the same for a lease", async (t) => {
  const detector = new FailureDetector(LEASE_MS);
  const silent = (beat: string, nowMs: number) => detector.isSilent("a", beat, nowMs);
  t.equal(silent("1", 0), false);
  t.equal(silent("1", 500), false);
  t.equal(silent("1", 999), false);
  t.equal(silent("1", 1_000), true);
  t.equal(silent("2", 1_100), false, "a new heartbeat starts again");
  t.equal(silent("2", 1_600), false);
  t.equal(silent("2", 2_101), false, "this process has not looked for more than half a lease");
  t.equal(silent("2", 2_601), false);
  t.equal(silent("2", 3_101), true);
  detector.forget("a");
  t.equal(silent("2", 3_200), false, "forgotten");
});

t.test("a renamed process keeps the time of its silence", async (t) => {
  const detector = new FailureDetector(LEASE_MS);
  detector.isSilent("a", "1", 0);
  detector.isSilent("a", "1", 500);
  detector.rename("a", "b");
  detector.rename("c", "d");
  t.equal(detector.isSilent("b", "", 1_000), true);
  t.equal(detector.isSilent("a", "1", 1_000), false, "the old name is new again");
  t.equal(detector.isSilent("d", "", 1_000), false, "an unknown name is new");
});

t.test("members and joining processes other than this one are found silent", async (t) => {
  const peers = new Peers(LEASE_MS);
  const all = view(["me.1", "a.1", "b.1"], ["c.1"]);
  for (const nowMs of [0, 500]) t.strictSame(peers.silent(all, "me", nowMs), []);
  const later = view(["me.1", "a.1", "b.2"], ["c.1"]);
  t.strictSame(peers.silent(later, "me", 1_000), [
    { process: "a", beat: "1" },
    { process: "c", beat: "1" },
  ]);
  peers.forget("a");
  t.strictSame(peers.silent(later, "me", 1_001), [{ process: "c", beat: "1" }]);
});

t.test("after a restart of Redis every known member is awaited", async (t) => {
  const peers = new Peers(LEASE_MS);
  peers.awaitAll();
  t.equal(peers.isAwaited, false, "none is known");
  peers.rememberMembers(view(["me.1", "a.1", "b.1"]), "me");
  peers.awaitAll();
  t.equal(peers.isAwaited, true);
  t.equal(peers.updateAwaited(view(["a.2"]), 0), false, "a is back");
  t.equal(peers.isAwaited, true, "b is not");
  t.equal(peers.updateAwaited(view(["a.2"]), 500), false);
  t.equal(peers.updateAwaited(view(["a.2"]), 1_000), true, "b is given up");
  t.equal(peers.isAwaited, false);
  peers.awaitAll();
  t.equal(peers.isAwaited, false, "both are known only once a view shows them again");
});

t.test("one that is back and one that is given up in the same view", async (t) => {
  for (const members of [
    ["me.1", "a.1", "b.1"],
    ["me.1", "b.1", "a.1"],
  ]) {
    const peers = new Peers(LEASE_MS);
    peers.rememberMembers(view(members), "me");
    peers.awaitAll();
    peers.updateAwaited(view([]), 0);
    peers.updateAwaited(view([]), 500);
    t.equal(peers.updateAwaited(view(["a.2"]), 1_000), true, "in any order");
    t.equal(peers.isAwaited, false);
  }
});

t.test(
  "in a new epoch the silence so far counts, and a joining process is not silent",
  async (t) => {
    const peers = new Peers(LEASE_MS);
    peers.rememberMembers(view(["me.1", "a.1", "b.1"]), "me");
    for (const nowMs of [0, 500]) peers.silent(view(["a.1", "b.1"]), "me", nowMs);
    peers.awaitAllElsewhere();
    t.equal(peers.updateAwaited(view([], ["b.9"]), 1_000), true, "a was silent for a lease");
    t.equal(peers.isAwaited, true, "b commits what it has, then joins");
    t.equal(peers.updateAwaited(view(["b.10"]), 1_400), false);
    t.equal(peers.isAwaited, false);
  },
);

t.test("a member that was given up is not awaited", async (t) => {
  const peers = new Peers(LEASE_MS);
  peers.rememberMembers(view(["a.1"]), "me");
  peers.giveUp("a");
  peers.awaitAll();
  t.equal(peers.isAwaited, false);
});

t.test("an epoch is abandoned if it has neither members nor joining processes", async (t) => {
  t.equal(isAbandoned(view([])), true);
  t.equal(isAbandoned(view(["a.1"])), false);
  t.equal(isAbandoned(view([], ["a.1"])), false);
  t.equal(isAbandoned({ ...view([]), epoch: "" }), false);
});
