import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { RedisKeptProgress } from "../../../../core/money/redis/kept-progress.ts";
import { NotMember } from "../../../../core/money/redis/session.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import type { Script } from "../../../../core/redis/script.ts";

const PROGRESS = { generation: 3, commits: new Map([["w", 5]]) };

/** A first bucket that is ready or not, and has perhaps lost data, which no round has found yet. */
function stage() {
  const state = {
    /** The edition of the next reply to the script, if it is not the one that Redis has. */
    replied: undefined as string | undefined,
    now: "ready",
    isLost: false,
    edition: "0000000000007.000000000000003",
    fields: 2,
  };
  const asked: string[] = [];
  const sent: string[][] = [];
  const client = {
    async run(_: Script, _keys: string[], args: string[]) {
      asked.push("read");
      sent.push(args);
      const edition = state.replied ?? state.edition;
      state.replied = undefined;
      return [edition, ["generation", "3", "w", "5"]];
    },
    async call(command: string) {
      asked.push(command);
      return command === "HLEN" ? state.fields : state.edition;
    },
  } as unknown as RedisCommands;
  const first = {
    get state() {
      return state.now;
    },
    async run(operation: string) {
      asked.push(operation);
      if (state.isLost) throw new NotMember("b00");
    },
  } as unknown as Bucket;
  const kept = new RedisKeptProgress(client, "t", () => first);
  return { state, asked, sent, first, kept };
}

t.test("counts are read only from a bucket that has lost no data before", async (t) => {
  const { state, asked, kept } = stage();
  const keep = () => kept.keep(PROGRESS, new Map());
  state.now = "joining";
  await t.rejects(keep(), NotMember, "the bucket is not joined yet");
  t.strictSame(asked, []);
  state.now = "ready";
  state.isLost = true;
  await t.rejects(keep(), NotMember, "the bucket lost data, and no round has found it yet");
  t.strictSame(asked.splice(0), ["read", "noop"]);
  t.equal(kept.edition, "");
  state.isLost = false;
  t.strictSame(await keep(), PROGRESS);
  t.strictSame(asked.splice(0), ["read", "noop"]);
  t.equal(kept.edition, state.edition);
  // It knows the counts now: if the bucket loses them, it keeps them again.
  state.now = "joining";
  state.edition = "";
  t.strictSame(await keep(), PROGRESS);
  t.strictSame(asked, ["GET", "HLEN", "read"]);
});

t.test("all counts are read only if some have changed, or are lost", async (t) => {
  const { state, asked, kept } = stage();
  const keep = async (commits = PROGRESS.commits, dropped = new Map<string, number>()) => {
    asked.splice(0);
    t.strictSame(await kept.keep({ generation: 3, commits }, dropped), PROGRESS);
    return asked.join(" ");
  };
  t.equal(await keep(), "read noop");
  t.equal(await keep(), "GET HLEN");
  t.equal(await keep(new Map()), "GET HLEN", "lower counts are no news");
  t.equal(await keep(new Map([["w", 6]])), "read");
  t.equal(await keep(PROGRESS.commits, new Map([["old", 1]])), "read");
  asked.splice(0);
  await kept.keep(PROGRESS, new Map(), "again");
  t.equal(asked.join(" "), "read", "they may be lost, although their edition has come back");
  state.edition = "0000000000007.000000000000004";
  t.equal(await keep(), "GET HLEN read", "another process has changed some");
  t.equal(await keep(), "GET HLEN");
  state.fields = 0;
  t.equal(
    await keep(),
    "GET HLEN read",
    "a node that failed while a slot moved lost the counts alone",
  );
});

t.test("a commit raises the counts of its process, and reads no others", async (t) => {
  const { state, asked, kept } = stage();
  state.isLost = true;
  await t.rejects(async () => kept.raise(PROGRESS), NotMember);
  state.isLost = false;
  await kept.raise(PROGRESS);
  t.equal(kept.edition, state.edition);
  await kept.keep(PROGRESS, new Map());
  asked.splice(0);
  state.edition = "0000000000007.000000000000009";
  await kept.raise(PROGRESS);
  t.strictSame([kept.edition, asked.splice(0)], [state.edition, ["read"]]);
  // Redis has lost the counts. This process sends all that it knows.
  state.replied = "";
  await kept.raise(PROGRESS);
  t.strictSame([kept.edition, asked], [state.edition, ["read", "GET", "HLEN", "read"]]);
});

t.test("counts cover wallets that rest on the same edition or an earlier one", async (t) => {
  const { state, first, kept } = stage();
  const stamped: string[] = [];
  const other = {
    runFromLedger: async (operation: string) => stamped.push(operation),
  } as unknown as Bucket;
  const table: [string, boolean][] = [
    ["", true],
    ["0000000000007.000000000000002", true],
    ["0000000000007.000000000000003", true],
    // Counts were lost since: Redis has an earlier edition, or others that began later or earlier.
    ["0000000000007.000000000000004", false],
    ["0000000000006.000000000000001", false],
    ["0000000000008.000000000000001", false],
  ];
  for (const [edition, isCovered] of table) {
    t.equal(await kept.covers(other, edition), isCovered, edition);
    t.equal(
      stamped.splice(0).length,
      isCovered ? 1 : 0,
      "they rest on the latest edition from now",
    );
    t.equal(await kept.covers(first, edition), isCovered, `${edition}, of the first bucket`);
  }
  const edition = "0000000000007.000000000000002";
  state.now = "joining";
  for (const each of [edition, ""]) await t.rejects(kept.covers(other, each), NotMember);
  t.equal(await kept.covers(first, edition), true, "the first bucket waits for none");
  state.now = "ready";
  state.isLost = true;
  await t.rejects(kept.covers(other, edition), NotMember);
  state.isLost = false;
  for (const lost of [{ fields: 0 }, { fields: 2, edition: "" }]) {
    Object.assign(state, lost);
    t.equal(await kept.covers(other, edition), false, "the counts are lost, or their edition");
    t.equal(await kept.covers(first, edition), false, "a slot moves key by key");
  }
});

t.test(
  "a process that believes wallets knows the counts, and keeps them if Redis loses them",
  async (t) => {
    const { state, sent, kept } = stage();
    const other = { runFromLedger: async () => {} } as unknown as Bucket;
    t.equal(await kept.covers(other, state.edition), true);
    // The node of the counts fails over before this process has compared them with the ledger.
    state.edition = "0000000000009.000000000000001";
    await kept.keep({ generation: 3, commits: new Map([["own", 1]]) }, new Map());
    t.strictSame(sent.at(-1), [
      "0000000000007.000000000000003",
      "1",
      "3",
      "0",
      "w",
      "5",
      "own",
      "1",
    ]);
  },
);
