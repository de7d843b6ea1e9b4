import t from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { Membership } from "../../../../core/money/redis/membership.ts";
import type { MembershipEvents, Pulse } from "../../../../core/money/redis/membership-options.ts";
import { NotMember } from "../../../../core/money/redis/session.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { ManualMachine } from "../manual-machine.ts";

const TIMES = LIFETIMES;

/** A bucket in a Redis that replies as the test says, and one process that keeps itself a member of it. */
class Stage {
  /** The state that `look` shows. */
  epoch = "100";
  operations = -1;
  isReaped = false;
  acceptsLoads = true;
  members: [process: string, beat: string, verified: "0" | "1"][] = [["other", "1", "1"]];
  joining: string[] = [];
  orphans: string[] = [];
  server = "run address";
  version = "1";
  /** Replies to other operations. */
  readonly replies = new Map<string, unknown>([
    ["join", "100"],
    ["allow-loads", 1],
    ["claim", 1],
  ]);
  /** Every operation that was asked for, with its arguments. */
  asked: string[][] = [];
  seen: string[] = [];
  beginning: () => Promise<void> = async () => {};
  isCovered = true;
  coveredEdition = "";
  hasUncommitted = false;
  isCommitting = false;
  isQuiet = true;
  /** The server that the heartbeat found. */
  pulseServer = "";
  nowMs = 0;
  private operationsDone = 0;
  readonly membership: Membership;

  constructor() {
    const client: Partial<RedisCommands> = {
      isCluster: false,
      run: async (_script, _keys, [operation = "", , ...args]) => this.reply(operation, args),
      evalsha: async (_sha, _keys, [operation = ""]) => {
        this.asked.push([operation]);
        this.operations = ++this.operationsDone + 1;
        return [this.operations, "ok"];
      },
    };
    const say =
      (what: string) =>
      (...args: unknown[]) =>
        void this.seen.push([what, ...args.slice(1)].join(" "));
    const events: MembershipEvents = {
      failed: (_, __, wasReady) => say("failed")("", wasReady),
      moved: say("moved"),
      mustResend: say("mustResend"),
      expelled: say("expelled"),
      beginning: () => this.beginning(),
      joined: async () => say("joined")(),
      reaped: say("reaped"),
      maintained: () => {},
      hasUncommitted: () => this.hasUncommitted,
      isCommitting: () => this.isCommitting,
    };
    const stage = this;
    const pulse: Pulse = {
      get isQuiet() {
        return stage.isQuiet;
      },
      get server() {
        return stage.pulseServer;
      },
      beatAtMs: () => undefined,
      listed() {},
    };
    this.membership = new Membership(new BucketKeys("t", 0), {
      ...{ client: client as RedisCommands, process: "me", times: TIMES },
      ...{ machine: new ManualMachine(), events, pulse },
      counts: {
        edition: "1",
        firstEdition: async () => "1",
        covers: async (_, edition) => this.covers(edition),
      },
    });
  }

  private covers(edition: string): boolean {
    this.coveredEdition = edition;
    return this.isCovered;
  }

  private reply(operation: string, args: string[]): unknown {
    this.asked.push([operation, ...args]);
    const reply = this.replies.get(operation);
    if (reply instanceof Error) throw reply;
    if (operation !== "look") return reply;
    const { epoch, operations, isReaped, acceptsLoads, members, joining, orphans } = this;
    const known = [isReaped ? 1 : 0, acceptsLoads ? 1 : 0, members, joining, orphans];
    return [epoch, operations, ...known, this.server, this.version, 0, null, "7.3"];
  }

  /** Runs a round after some time. Returns its delay, and what it asked for after `look`. */
  async round(afterMs = 0): Promise<[number, ...string[]]> {
    this.nowMs += afterMs;
    this.asked = [];
    this.seen = [];
    const waitMs = await this.membership.step(this.nowMs);
    return [waitMs, ...this.asked.slice(1).map((each) => each.join(" "))];
  }

  /** The argument of the last `look` that says that this process comes from an earlier epoch. */
  get moving(): string | undefined {
    return this.asked.find(([operation]) => operation === "look")?.[3];
  }

  /** Joins the epoch, and finds it in order. */
  async ready(): Promise<this> {
    await this.round();
    this.operations = 1;
    this.members.push(["me", "1", "1"]);
    await this.round();
    await this.round(TIMES.heartbeatMs);
    return this;
  }

  /** Redis lost its data, and another process has begun the next epoch. */
  lose(): void {
    this.epoch = "200";
    this.replies.set("join", "200");
    this.operations = -1;
    this.operationsDone = 0;
    this.members = [["other", "1", "1"]];
  }
}

t.test("a process joins an epoch with members, and is ready once it has checked it", async (t) => {
  const stage = new Stage();
  const { membership } = stage;
  t.strictSame(await stage.round(), [0, "join 100 0"]);
  t.strictSame(stage.seen, ["joined"]);
  t.equal(membership.bucket.state, "joining");
  stage.operations = 1;
  const [waitMs, ...asked] = await stage.round();
  t.strictSame(asked, ["noop"]);
  t.equal(membership.bucket.state, "ready");
  t.equal(waitMs, LIFETIMES.joiningRoundMs, "looks again soon after a change");
  t.strictSame(await stage.round(), [LIFETIMES.settledRoundMs]);
});

t.test("a process whose join was overtaken looks again, and has joined nothing", async (t) => {
  const stage = new Stage();
  stage.replies.set("join", "");
  t.strictSame(await stage.round(), [0, "join 100 0"]);
  t.strictSame([stage.seen, stage.membership.bucket.epoch], [[], ""]);
});

t.test("an epoch without members is not believed, unless this process began it", async (t) => {
  const stage = new Stage();
  stage.members = [];
  stage.replies.set("declare", "150");
  t.strictSame(await stage.round(), [0, "declare 100 100"]);
  stage.epoch = "150";
  stage.replies.set("join", "150");
  t.strictSame(await stage.round(), [0, "join 150 0"]);
});

t.test(
  "the first failure of a bucket that was ready hurries the others, no later one",
  async (t) => {
    const stage = await new Stage().ready();
    stage.replies.set("look", new Error("away"));
    await stage.round();
    t.strictSame(stage.seen, ["failed true"]);
    t.equal(stage.membership.bucket.state, "away");
    const [waitMs] = await stage.round();
    t.strictSame(stage.seen, ["failed false"]);
    t.ok(waitMs >= LIFETIMES.roundRetryMsMin / 2 && waitMs <= LIFETIMES.roundRetryMsMax);
    stage.replies.set("look", new Error("NOSCRIPT it restarted"));
    t.strictSame(await stage.round(), [0], "a restart is looked at at once");
    t.strictSame(stage.seen, []);
  },
);

t.test("a process commits its posts of a lost epoch before it joins the next", async (t) => {
  const stage = await new Stage().ready();
  stage.hasUncommitted = true;
  stage.lose();
  stage.acceptsLoads = false;
  t.strictSame(await stage.round(), [LIFETIMES.joiningRoundMs]);
  t.strictSame([stage.seen, stage.moving], [["moved"], "0"]);
  await stage.round();
  t.strictSame([stage.seen, stage.moving], [[], "1"], "it says that posts are missing");
  stage.acceptsLoads = true;
  stage.isCommitting = true;
  t.strictSame(await stage.round(), [LIFETIMES.joiningRoundMs], "the committer has them in hand");
  stage.isCommitting = false;
  t.strictSame(await stage.round(), [0]);
  t.strictSame(stage.seen, ["mustResend"]);
  stage.hasUncommitted = false;
  t.strictSame(await stage.round(), [0, "join 200 100"]);
  stage.operations = 1;
  await stage.round();
  t.equal(stage.moving, "0", "none is missing once it has joined");
});

t.test(
  "a process that finds an epoch with loaded wallets commits none of its posts there",
  async (t) => {
    const stage = await new Stage().ready();
    const { membership } = stage;
    stage.hasUncommitted = true;
    stage.isCommitting = true;
    stage.lose();
    t.strictSame(await stage.round(TIMES.leaseMs), [LIFETIMES.joiningRoundMs]);
    t.equal(
      membership.isFresh(stage.nowMs),
      false,
      "it was suspended between a commit and its retry",
    );
    stage.isCommitting = false;
    t.strictSame(await stage.round(), [0]);
    t.strictSame(stage.seen, ["mustResend"]);
    stage.lose();
    stage.acceptsLoads = false;
    await stage.round();
    t.equal(membership.isFresh(stage.nowMs), true, "others wait for its posts");
  },
);

t.test("a process that saw the loss allows loads sooner than one that is new", async (t) => {
  const witness = await new Stage().ready();
  witness.lose();
  const stranger = new Stage();
  for (const [stage, graceMs] of [
    [witness, LIFETIMES.witnessGraceMs],
    [stranger, TIMES.graceMs],
  ] as const) {
    stage.acceptsLoads = false;
    t.strictSame(await stage.round(), [0, `join ${stage.epoch} ${stage === witness ? 100 : 0}`]);
    stage.operations = 1;
    stage.members.push(["me", "1", "1"]);
    t.strictSame((await stage.round(graceMs - 1)).slice(1), ["noop"]);
    t.strictSame((await stage.round(1)).slice(1), [`allow-loads ${stage.epoch}`]);
    t.ok(stage.membership.bucket.isReady);
  }
});

t.test("a silent member loses its leases, unless it has beaten since", async (t) => {
  for (const [reply, seen] of [
    [-1, []],
    [0, ["reaped other 0"]],
    [3, ["reaped other 3"]],
  ] as const) {
    const stage = await new Stage().ready();
    stage.isQuiet = false;
    stage.replies.set("reap", reply);
    const all: string[] = [];
    for (let ms = 0; ms < TIMES.leaseMs + 2_000 && stage.seen.length === 0; ms += 1_000) {
      const [, ...asked] = await stage.round(1_000);
      all.push(...asked);
      if (all.length > 0) break;
    }
    t.strictSame(all, ["reap 100 other 1"]);
    t.strictSame(stage.seen, seen);
  }
});

t.test("after a restart of Redis one silent member is enough to end the epoch", async (t) => {
  const stage = await new Stage().ready();
  stage.isQuiet = false;
  stage.server = "another run";
  stage.members = stage.members.map(([process, beat]) => [process, beat, "0"]);
  stage.replies.set("declare", "150");
  const all = new Set<string>();
  for (let ms = 0; ms < TIMES.leaseMs + 2_000 && !all.has("declare"); ms += 1_000) {
    for (const asked of (await stage.round(1_000)).slice(1)) all.add(String(asked).split(" ")[0]!);
  }
  t.ok(all.has("declare"), [...all].join());
  t.notOk(all.has("reap"), "the others cannot know if it missed a post");
});

t.test(
  "an epoch that lacks a member after a restart is ended, however often that fails",
  async (t) => {
    const stage = await new Stage().ready();
    stage.isQuiet = false;
    stage.server = "another run";
    stage.members = [["me", "1", "0"]];
    stage.replies.set("declare", new Error("no reply"));
    const declares = () => stage.asked.filter(([operation]) => operation === "declare").length;
    for (let ms = 0; ms < TIMES.leaseMs + 2_000 && declares() === 0; ms += 1_000) {
      await stage.round(1_000);
    }
    t.equal(declares(), 1);
    stage.members = [["me", "1", "1"]];
    await stage.round(1_000);
    t.strictSame(stage.asked.at(-1), ["declare", "100", "100"]);
    // Another process was faster.
    stage.lose();
    t.strictSame(await stage.round(), [0, "join 200 100"]);
  },
);

t.test("an epoch in doubt ends, though this process is a member of it", async (t) => {
  const stage = await new Stage().ready();
  stage.replies.set("declare", "150");
  stage.membership.doubt.raise("100");
  t.strictSame(await stage.round(), [0, "declare 100 100"]);
  stage.epoch = "150";
  stage.replies.set("join", "150");
  stage.members = [];
  stage.operations = -1;
  t.strictSame(await stage.round(), [0, "join 150 100"]);
});

t.test(
  "an epoch that this process finds ends if counts of the ledger are lost that its wallets rest on",
  async (t) => {
    const stage = new Stage();
    stage.isCovered = false;
    stage.replies.set("declare", "150");
    t.strictSame(await stage.round(), [0, "join 100 0"]);
    stage.operations = 1;
    t.strictSame(await stage.round(), [0, "noop", "declare 100 100"]);
    t.equal(stage.coveredEdition, "7.3");
    t.equal(stage.membership.bucket.state, "joining", "no money moves before");
    // The wallets of the next epoch are from the ledger as it is now.
    stage.lose();
    t.strictSame(await stage.round(), [0, "join 200 100"]);
    stage.operations = 1;
    await stage.round();
    t.equal(stage.membership.bucket.state, "ready");
  },
);

t.test("no epoch begins before the store is prepared for it", async (t) => {
  for (const epoch of ["", "100"]) {
    const stage = new Stage();
    stage.epoch = epoch;
    stage.members = [];
    stage.replies.set("declare", "150");
    stage.beginning = () => Promise.reject(new NotMember("b00"));
    const [waitMs, ...asked] = await stage.round();
    t.ok(waitMs > 0);
    t.strictSame(asked, []);
    t.equal(stage.membership.bucket.state, "joining");
    stage.beginning = async () => {};
    t.strictSame((await stage.round()).slice(1), [epoch === "" ? "join  0" : "declare 100 100"]);
  }
});

t.test("a process whose leases were ended begins again, once its commit has ended", async (t) => {
  const stage = await new Stage().ready();
  stage.operations = -1;
  stage.isReaped = true;
  stage.isCommitting = true;
  t.strictSame(await stage.round(), [LIFETIMES.joiningRoundMs]);
  t.strictSame([stage.seen, stage.membership.bucket.state], [[], "joining"]);
  stage.isCommitting = false;
  t.strictSame(await stage.round(), [0]);
  t.strictSame([stage.seen, stage.membership.bucket.process], [["expelled"], "me~1"]);
  stage.isReaped = false;
  t.strictSame(await stage.round(), [0, "join 100 0"]);
});

t.test("a settled bucket is looked at seldom, and at once if something changed", async (t) => {
  const stage = await new Stage().ready();
  const { membership } = stage;
  const glance = (epoch: string, version: string, server = "") =>
    membership.glanced(epoch, version, stage.nowMs, server);
  t.equal(glance("100", "1"), true);
  t.equal(glance("100", "1", stage.server), true);
  t.equal(membership.settled.end(), false, "its next round is late, so it must be hurried");
  t.equal(glance("100", "2"), false);
  t.equal(membership.bucket.state, "ready");
  t.strictSame(await stage.round(), [LIFETIMES.settledRoundMs]);
  t.equal(glance("100", "1", "another run"), false);
  t.equal(membership.bucket.state, "ready");
  t.strictSame(await stage.round(), [LIFETIMES.settledRoundMs]);
  t.equal(glance("200", "1"), false);
  t.equal(membership.bucket.state, "joining", "a new epoch is noticed before the round");
  t.strictSame(stage.seen, ["moved"]);
  stage.lose();
  await stage.round();
  t.equal(membership.settled.end(), true, "its next round is soon");
});

t.test("of a settled bucket that changed, only the changed members are listed", async (t) => {
  const stage = await new Stage().ready();
  const { membership } = stage;
  /** Returns whether the next look asks for all members, and whether those that changed are enough. */
  const asked = async () => {
    await stage.round();
    return stage.asked[0]?.slice(-4, -2).join(" ");
  };
  const glance = () => membership.glanced("100", "2", stage.nowMs, "");
  t.equal(await asked(), "0 0");
  glance();
  t.equal(await asked(), "0 1");
  glance();
  membership.settled.end();
  t.equal(await asked(), "1 0", "a watched process was silent");
  stage.nowMs += TIMES.leaseMs / 2;
  glance();
  t.equal(await asked(), "1 0", "this process was suspended");
  glance();
  stage.isQuiet = false;
  t.equal(await asked(), "1 1", "a watched process is silent");
});

t.test("a process believes in its leases for half of one", async (t) => {
  const stage = await new Stage().ready();
  const { membership, nowMs } = stage;
  t.equal(membership.isFresh(nowMs + TIMES.leaseMs / 2 - 1), true);
  t.equal(membership.isFresh(nowMs + TIMES.leaseMs / 2), false);
  t.equal(
    membership.glanced("100", "1", nowMs + TIMES.leaseMs / 2, ""),
    false,
    "so it looks again",
  );
});

t.test("a look trusts the heartbeat to know the server only while nothing changes", async (t) => {
  const stage = await new Stage().ready();
  const { membership } = stage;
  const asked = async () => {
    await stage.round();
    return stage.asked[0]?.at(-2);
  };
  t.equal(await asked(), "0", "the heartbeat does not know it");
  stage.pulseServer = stage.server;
  t.equal(await asked(), "1");
  stage.pulseServer = "another run";
  t.equal(await asked(), "0");
  stage.pulseServer = stage.server;
  membership.glanced("100", "2", stage.nowMs, stage.server);
  t.equal(await asked(), "0", "a member changed");
  t.equal(await asked(), "1");
  membership.settled.end();
  t.equal(await asked(), "0", "a watched process was silent");
  stage.isQuiet = false;
  t.equal(await asked(), "0", "a watched process is silent");
});
