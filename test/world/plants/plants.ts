import type { FaultName, StoreKind } from "../fault-names.ts";

/** A replacement in one place of the code. */
export interface Edit {
  /** Path from the package's root: the source of a compiled file, or a Lua file. */
  readonly file: string;
  /** Occurs exactly once; otherwise the plant is out of date. */
  readonly find: string;
  readonly replace: string;
}

/** A bug for a simulated run. Production code does not know of it. */
export interface Plant extends Edit {
  /** Most promises of several gateways are kept in two places, and one of them is enough: these break the other too. */
  readonly also?: readonly Edit[];
  readonly store: StoreKind;
  /** Faults that reveal the bug soon; without them it takes the whole swarm. */
  readonly faults: Readonly<Partial<Record<FaultName, number>>>;
  /** Movements in a run, if the usual few do not reveal it. */
  readonly movements?: number;
  readonly closesWallets?: boolean;
  /** The test's first seed, to save time. Default 1; a change of the code may move the bug to a later one. */
  readonly from?: number;
}

const LUA = "core/money/redis/lua/";

export const PLANTS: Readonly<Record<string, Plant>> = {
  "a wallet is closed while calls of it are uncommitted": {
    file: `${LUA}close.lua`,
    find: " and (known[3] or '0') == '0'",
    replace: "",
    store: "redis",
    faults: { ledgerAway: 1_500 },
    closesWallets: true,
    from: 4,
  },
  "a stream that outran its extension never goes on": {
    file: "plugins/settle/hold-extender.ts",
    find: "if (!this.waiting)\n",
    replace: "if (this.waiting)\n",
    store: "redis",
    faults: { redisFreeze: 2_000 },
  },
  "an extension may be less than what was delivered": {
    file: "plugins/settle/hold-extender.ts",
    find: "const covered = Math.max(held.outputTokens, call.deliveredTokens);",
    replace: "const covered = held.outputTokens;",
    store: "embedded",
    faults: {},
    from: 4,
  },
  "the last byte leaves before the post": {
    file: "core/http/reply.ts",
    find: "if (!pending)\n",
    replace: "if (pending || !pending)\n",
    store: "embedded",
    faults: { diskFull: 2_500 },
  },
  "posts are acknowledged before they are committed": {
    file: "core/money/committer.ts",
    find: "await this.commitReadable(entries).catch(",
    replace: "await holdStore.acknowledge(entries); await this.commitReadable(entries).catch(",
    store: "redis",
    faults: { ledgerAway: 1_500, kill: 3_000 },
  },
  "a wallet is loaded before replayed posts are committed": {
    file: "core/money/embedded/wallets.ts",
    find: "await this.whenCommitted();",
    replace: "",
    store: "embedded",
    faults: { kill: 2_000, ledgerSlow: 2_000 },
    from: 122,
  },
  "a charge that the journal refused is not taken back": {
    file: "core/money/embedded/calls.ts",
    find: "this.takeBack(each);",
    replace: "void each;",
    store: "embedded",
    faults: { diskFull: 2_500 },
  },
  "half a line stays in the journal": {
    file: "core/money/journal/journal.ts",
    find: "this.cut(segment, before);",
    replace: "void before;",
    store: "embedded",
    faults: { diskFull: 2_500, kill: 3_000 },
    from: 3,
  },
  "the last segment of a killed process is not synced": {
    file: "core/money/journal/journal.ts",
    find: "this.unsynced = found.newest.map(({ payload }) => payload);",
    replace: "found.newest.length = 0;",
    store: "embedded",
    faults: { kill: 1_000, powerLoss: 1_500, ledgerAway: 1_500 },
    from: 4,
  },
  "the journal is never synced": {
    file: "core/money/journal/journal.ts",
    find: "if (segment === undefined || this.syncing || this.unsynced.length === 0)\n",
    replace: "if (true)\n",
    store: "embedded",
    faults: { powerLoss: 2_500, ledgerAway: 2_500 },
    from: 10,
  },
  "a failed sync is repeated on the same file": {
    file: "core/money/journal/journal.ts",
    find: "return this.distrust(errorOf(error));",
    replace: "return;",
    store: "embedded",
    faults: { diskFailsSyncs: 1_500, powerLoss: 1_500, ledgerAway: 1_500 },
    from: 3,
  },
  "a reply does not wait until its spooled post is on the disk": {
    file: "core/money/redis/spool.ts",
    find: "await own.whenSynced(position)",
    replace: "",
    store: "redis",
    faults: { powerLoss: 1_500, redisFreeze: 1_500 },
    from: 3,
  },
  "a ledger that went back is believed": {
    file: "core/money/ledger-watch.ts",
    find: "return this.found(WENT_BACK);",
    replace: "return this.found(undefined);",
    store: "redis",
    faults: { ledgerRestored: 6_000 },
    from: 2,
  },
  "a restore keeps the wallets": {
    file: "core/money/redis/membership.ts",
    find: 'this.doubt(epoch, "an operator restores the wallets");',
    replace: "return;",
    store: "redis",
    faults: { ledgerRestored: 6_000 },
    from: 2,
  },
  "a gateway goes on as the writer whose commits were lost": {
    file: "core/money/ledger/writer.ts",
    find: "if (!(error instanceof LedgerWentBack))",
    replace: "",
    store: "embedded",
    faults: { ledgerRestored: 6_000 },
    from: 3,
  },
  "a late post is given up": {
    file: "core/money/late-posts.ts",
    find: "this.waiting.set(posting.callId, posting);",
    replace: "",
    store: "embedded",
    faults: { diskFull: 2_500 },
  },
  "posts that were handed over have no owner": {
    file: `${LUA}epoch.lua`,
    find: "call('HSETNX', base .. 'orphans', place, '')",
    replace: "",
    store: "redis",
    faults: { redisWipe: 4_000, ledgerCut: 4_000 },
    from: 10,
  },
  "a new epoch is entered with posts in hand": {
    file: "core/money/redis/membership.ts",
    find: "if (posts.length > 0) {",
    replace: "if (false) {",
    store: "redis",
    faults: { redisWipe: 3_000, ledgerAway: 3_000 },
    from: 4,
  },
  "an old post is sent without a look into the ledger": {
    file: "core/money/redis/resender.ts",
    find: "if (!isSentIn(bucket, sent)) {",
    replace: "if (false) {",
    store: "redis",
    faults: { kill: 1_500, redisLosesReplies: 1_500, redisWipe: 4_000 },
    from: 9,
  },
  "a post that was sent twice belongs to no process": {
    file: "core/money/redis/posts.ts",
    find: 'kind !== "posted" && !isOwn',
    replace: 'kind !== "posted"',
    store: "redis",
    faults: { redisCut: 400, redisLosesReplies: 4_000 },
    from: 9,
  },
  "a post is charged as often as it is sent": {
    file: `${LUA}post.lua`,
    find: "if done then",
    replace: "if false then",
    store: "redis",
    faults: { redisLosesReplies: 700 },
  },
  "a hold takes more than there is": {
    file: `${LUA}hold.lua`,
    find: "if available < amount then",
    replace: "if false then",
    store: "redis",
    faults: {},
    from: 4,
  },
  "the posts of a dead gateway are left behind": {
    file: `${LUA}epoch.lua`,
    find: "leave_outbox(member, me)",
    replace: "",
    store: "redis",
    faults: { kill: 2_500, ledgerAway: 2_500 },
  },
  "the last calls that wait for the ledger are forgotten": {
    file: "core/money/pace.ts",
    find: "if (this.waiting > 0)\n",
    replace: "if (this.waiting > 3)\n",
    store: "embedded",
    faults: { ledgerAway: 2_500 },
    from: 7,
  },
  "the calls of a dead gateway stay in their purses": {
    file: `${LUA}epoch.lua`,
    find: "call('HINCRBY', key('w'), account .. purse .. ':a', amount)",
    replace: "",
    store: "redis",
    faults: { purseChange: 700, kill: 2_000 },
  },
  "a dead gateway's hold of nothing is never given back": {
    file: `${LUA}epoch.lua`,
    find: "call('HINCRBY', key('w'), account .. ':h', 0 - amount)",
    replace: "call('HINCRBY', key('w'), account .. ':h', '-' .. string.format('%.0f', amount))",
    store: "redis",
    faults: { kill: 2_000 },
  },
  "a post is charged to a purse that is not loaded": {
    file: `${LUA}post.lua`,
    find: "if not hold and cost > 0 and purses ~= '' then",
    replace: "if false then",
    store: "redis",
    faults: { purseChange: 700, redisWipe: 2_000 },
    from: 22,
  },
  "a revocation is lost with the data of Redis": {
    file: "core/money/redis/revocations.ts",
    find: "this.own.get(bucket)?.left() ?? []",
    replace: "[]",
    store: "redis",
    faults: { keyRevoked: 800, redisWipe: 2_500, ledgerAway: 2_500 },
    from: 35,
  },
  "an acknowledgement that failed is not repeated": {
    file: "core/money/redis/commits.ts",
    find: "if (entries.length > 0)\n            await this.acknowledgeNow(entries);",
    replace: "",
    store: "redis",
    faults: { redisCut: 400, redisLosesReplies: 4_000 },
  },
  "a void without a reply is not repeated": {
    file: "core/money/redis/resender.ts",
    find: "void this.takeBack(bucket, post);",
    replace: "",
    store: "redis",
    faults: { diskFull: 1_000, redisLosesReplies: 1_200 },
  },
  "a debit without a reply is not sent again": {
    file: "core/money/redis/posts.ts",
    find: "if (!isOutOfMemory(error))",
    replace: "if (false)",
    store: "redis",
    faults: { redisLosesReplies: 700 },
    movements: 200,
  },
  "wallets outlive their epoch": {
    file: "core/money/redis/keys.ts",
    find: "under}w`",
    replace: "this.base}w`",
    also: [
      {
        file: `${LUA}epoch.lua`,
        find: "  return base .. (of or epoch) .. ':' .. name",
        replace: "  return name == 'w' and base .. 'w' or base .. (of or epoch) .. ':' .. name",
      },
      { file: `${LUA}epoch.lua`, find: "{ 'w', 'holds',", replace: "{ 'holds'," },
    ],
    store: "redis",
    faults: { redisOldSnapshot: 2_500, redisFailOver: 2_500 },
    from: 4,
  },
  "every epoch has the same name": {
    file: "core/money/redis/membership.ts",
    find: "Math.max(counter, known) + 1",
    replace: "1",
    also: [
      {
        file: "core/money/redis/membership.ts",
        find: "machine.uuid().slice(0, 8)",
        replace: '"x"',
      },
    ],
    store: "redis",
    faults: { redisWipe: 900, redisOldSnapshot: 1_500, ledgerRestored: 4_000 },
    from: 2,
  },
  "scripts that a server does not know are sent to it": {
    file: "core/money/redis/bucket.ts",
    find: ".evalsha(sha, keys, args)",
    replace: ".run(this.script, keys, args)",
    // Three other signs would end the epoch within a second.
    also: [
      { file: "core/money/redis/bucket.ts", find: "if (n <= this.seen)", replace: "if (false)" },
      {
        file: "core/money/redis/membership.ts",
        find: "if (view.server !== view.epochServer)",
        replace: "if (false)",
      },
      {
        file: "core/money/redis/membership.ts",
        find: "if (seen !== undefined && view.operations < seen)",
        replace: "if (false)",
      },
    ],
    store: "redis",
    faults: { redisOldSnapshot: 3_500, redisFailOver: 3_500 },
    from: 56,
  },
  "a writer commits twice at a time": {
    file: "core/money/ledger/writer.ts",
    find: "const writer = idle.pop() ?? this.uuid();",
    replace: "this.one ??= this.uuid(); const writer = this.one;",
    store: "embedded",
    faults: { ledgerRestored: 3_000, ledgerSlow: 2_500 },
  },
  "writers go on after a restore of the ledger": {
    file: "core/money/ledger/writer.ts",
    find: "this.counts = new Map();\n        this.idle = [];",
    replace: "",
    store: "redis",
    faults: { ledgerRestored: 2_500, ledgerSlow: 700 },
    from: 5,
  },
  "a hold takes a purse below its limit": {
    file: `${LUA}money.lua`,
    find: "if limit + balance < available then",
    replace: "if false then",
    store: "redis",
    faults: { purseChange: 700 },
  },
  "a movement that takes money is confirmed before its commit": {
    file: "core/money/movements.ts",
    find: "const result = await this.committed(movement);",
    replace: "return { kind: 'credited', applied: true };",
    store: "redis",
    faults: { ledgerSlow: 2_000 },
    movements: 100,
  },
  "a debit that the ledger has already keeps its charge": {
    file: "core/money/committer.ts",
    find: 'const isReturned = "debit" in entry && returned.includes(entry.entryId);',
    replace: "const isReturned = false;",
    // The ledger is asked for the reference before the post, too.
    also: [
      {
        file: "core/money/movements.ts",
        find: "if (earlier !== undefined)\n            return earlier;\n        if (-movement",
        replace: "if (-movement",
      },
    ],
    store: "redis",
    faults: { kill: 2_500, ledgerLosesReplies: 2_000, redisWipe: 4_000 },
    movements: 300,
    from: 7,
  },
  "the ledger commits posts of a gateway that is no member": {
    file: "test/support/epoch-books.ts",
    find: "throw new MembershipEnded();",
    replace: ";",
    store: "redis",
    faults: { lockedOut: 9_000 },
    from: 52,
  },
  "silent gateways stay members of the ledger": {
    file: "test/support/epoch-books.ts",
    find: "this.leave(bucket, others",
    replace: "void (bucket, others",
    store: "redis",
    faults: { lockedOut: 9_000 },
    from: 52,
  },
  "wallets are loaded before earlier outboxes are committed": {
    file: "core/money/redis/membership.ts",
    find: "|| view.hasEarlierOutbox ",
    replace: "",
    also: [
      {
        file: `${LUA}epoch.lua`,
        find: "ARGV[3] or has_earlier_outbox() then",
        replace: "ARGV[3] then",
      },
    ],
    store: "redis",
    faults: { leftOut: 3_000, ledgerSlow: 1_500 },
    from: 37,
  },
  "a gateway that cannot reach the ledger takes holds": {
    file: "core/money/redis/membership.ts",
    find: 'bucket.refusal = { cause: "ledger_unreachable", reason: why };',
    replace: "",
    store: "redis",
    faults: { leftOut: 3_000 },
    from: 9,
  },
  "a lease ends at the second look": {
    file: "core/money/redis/failure-detector.ts",
    find: "return nowMs - seen.sinceMs >= this.leaseMs;",
    replace: "return true;",
    store: "redis",
    faults: {},
    from: 4,
  },
  "a lease ends though no look was answered": {
    file: "core/money/redis/failure-detector.ts",
    find: " || nowMs - seen.seenAtMs > this.leaseMs / 2",
    replace: "",
    store: "redis",
    faults: { redisFreeze: 4_000 },
    from: 5,
  },
  "posts that the ledger refused are not sent again": {
    file: "core/money/redis/posts.ts",
    find: "outbox.keep({ entry });",
    replace: ";",
    store: "redis",
    faults: { lockedOut: 9_000 },
    from: 52,
  },
  "a reply leaves after a sync that began before its write": {
    file: "core/money/journal/journal.ts",
    find: "this.synced(through, beganMs)",
    replace: "this.synced(this.nextPosition - 1, beganMs)",
    store: "redis",
    faults: { powerLoss: 1_500, redisFreeze: 1_500 },
    from: 6,
  },
  "the last commits of dead gateways are forgotten": {
    file: "core/money/redis/kept-progress.ts",
    find: "const counts = [...dropped, ...commits].flat();",
    replace: "const counts = [...dropped].flat();",
    store: "redis",
    faults: { ledgerRestored: 5_000, kill: 2_500 },
  },
};
