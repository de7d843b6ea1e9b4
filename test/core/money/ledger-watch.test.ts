import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { FileKeptProgress } from "../../../core/money/embedded/kept-progress.ts";
import { LedgerWriter } from "../../../core/money/ledger/writer.ts";
import {
  type LedgerProgress,
  LedgerWentBack,
  merged,
  NO_PROGRESS,
  without,
} from "../../../core/money/ledger-history.ts";
import { type KeptProgress, LedgerWatch } from "../../../core/money/ledger-watch.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { type Machine, systemMachine } from "../../../core/process/machine.ts";
import { CommitCounts, MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { simulatedMachine } from "./simulated-machine.ts";

/** The progress that gateways keep together, as in Redis. */
class SharedProgress implements KeptProgress {
  progress = NO_PROGRESS;
  readonly dropped: string[] = [];
  private ledgerId: string | undefined;

  home(ledgerId: string): string {
    this.ledgerId ??= ledgerId;
    return this.ledgerId;
  }

  keep(progress: LedgerProgress, dropped: ReadonlyMap<string, number>): LedgerProgress {
    this.dropped.push(...dropped.keys());
    this.progress = merged(without(this.progress, dropped), progress);
    return this.progress;
  }

  raise(progress: LedgerProgress): void {
    this.progress = merged(this.progress, progress);
  }
}

/** A ledger that can be restored from a backup, and the gateways on it. */
class Site {
  counts = new CommitCounts();
  readonly kept = new SharedProgress();
  readonly log = recordedLog();

  gateway(kept: KeptProgress = this.kept, machine: Machine = systemMachine) {
    const history = new MemoryHistory(() => this.counts);
    const { log } = this.log;
    const watch = new LedgerWatch({ history, kept, machine, log });
    return {
      history,
      watch,
      /** Commits, and keeps the count as before an acknowledgement. */
      async commit() {
        await history.commit();
        await watch.keep();
      },
    };
  }

  /** Starts a gateway, and returns what it says after its first comparison. */
  async verdict(kept?: KeptProgress): Promise<boolean> {
    const { watch } = this.gateway(kept);
    await watch.start();
    await watch.stop();
    return watch.wentBack;
  }
}

t.test("no hold is taken before the ledger was compared", async (t) => {
  const site = new Site();
  const { watch } = site.gateway();
  t.match(watch.refusal, /not been compared/);
  t.equal(watch.cause, "ledger_not_compared");
  await watch.start();
  t.equal(watch.refusal, undefined);
  t.strictSame(site.log.lines, []);
  await watch.stop();
});

t.test("a start notices that the ledger lost commits that a dead gateway had kept", async (t) => {
  const site = new Site();
  await site.gateway().commit();
  const backup = site.counts.copy();
  t.equal(await site.verdict(), false);
  const dead = site.gateway();
  await dead.commit();
  site.counts = backup;
  t.equal(await site.verdict(), true);
  const lines = site.log.lines.filter(({ msg }) => /the ledger went back/.test(String(msg)));
  t.equal(lines.length, 1);
  t.match(lines[0]?.["reason"], /npm run admin -- restore/);
});

t.test("a count that a fail-over lost is kept again, unless its gateway is killed", async (t) => {
  for (const end of ["killed at once", "killed after a comparison", "stopped"]) {
    const site = new Site();
    const { machine, pass } = simulatedMachine();
    const { watch, history } = site.gateway(site.kept, machine);
    await watch.start();
    const backup = site.counts.copy();
    const before = site.kept.progress;
    await history.commit();
    await watch.keep();
    // A replica takes over that did not have that write yet.
    site.kept.progress = before;
    if (end === "killed after a comparison") await pass(2 * LIFETIMES.ledgerCheckMs);
    if (end === "stopped") await watch.stop();
    site.counts = backup;
    t.equal(await site.verdict(), end !== "killed at once", end);
  }
});

t.test("old writers are forgotten once an hour, except those that are kept", async (t) => {
  const site = new Site();
  const { machine, pass } = simulatedMachine();
  const { history, watch } = site.gateway(site.kept, machine);
  site.counts.counts.set("dead", 3);
  site.kept.progress = { generation: 0, commits: new Map([["dead", 3]]) };
  const read = history.read.bind(history);
  history.read = async () => ({ ...(await read()), recent: new Set<string>() });
  const asked: string[][] = [];
  history.forgetOld = async (kept) => void asked.push([...kept]);
  await watch.start();
  t.strictSame(asked, [["dead"]]);
  await pass(LIFETIMES.writersForgottenMs + LIFETIMES.ledgerCheckMs);
  t.strictSame(asked, [["dead"], []]);
  t.equal(watch.refusal, undefined);
  await watch.stop();
});

t.test("an old count of this process stays, and is not dropped and kept by turns", async (t) => {
  const site = new Site();
  const { machine, pass } = simulatedMachine();
  const { watch, history } = site.gateway(site.kept, machine);
  await history.commit();
  const read = history.read.bind(history);
  history.read = async () => ({ ...(await read()), recent: new Set<string>() });
  await watch.start();
  await pass(3 * LIFETIMES.ledgerCheckMs);
  t.strictSame(site.kept.dropped, []);
  t.equal(site.kept.progress.commits.size, 1);
  // The next process does not know whether its writer lives, so it drops the count.
  await watch.stop();
  const next = site.gateway(site.kept, machine);
  next.history.read = history.read;
  await next.watch.start();
  await pass(3 * LIFETIMES.ledgerCheckMs);
  t.equal(site.kept.dropped.length, 1);
  await next.watch.stop();
});

t.test("a commit that is lost with its gateway shows if a comparison has seen it", async (t) => {
  for (const isSeen of [false, true]) {
    const site = new Site();
    const { machine, pass } = simulatedMachine();
    const { watch } = site.gateway(site.kept, machine);
    const backup = site.counts.copy();
    if (!isSeen) await watch.start();
    // Its gateway dies before it keeps its count.
    await site.gateway().history.commit();
    if (isSeen) await watch.start();
    site.counts = backup;
    await pass(2 * LIFETIMES.ledgerCheckMs);
    t.equal(watch.wentBack, isSeen);
    await watch.stop();
  }
});

t.test("commits of gateways that have not noticed do not hide what was lost", async (t) => {
  const site = new Site();
  const unlucky = site.gateway();
  const other = site.gateway();
  await other.commit();
  const backup = site.counts.copy();
  await unlucky.commit();
  site.counts = backup;
  for (let n = 0; n < 5; n += 1) await other.commit();
  t.equal(await site.verdict(), true);
});

t.test(
  "a gateway whose commits were lost goes on as a new writer, and the loss still shows",
  async (t) => {
    const site = new Site();
    const gateway = site.gateway();
    await gateway.commit();
    const backup = site.counts.copy();
    await gateway.commit();
    site.counts = backup;
    await t.rejects(gateway.commit(), /lacks commits/);
    for (let n = 0; n < 5; n += 1) await gateway.commit();
    t.equal(gateway.history.confirmed.commits.size, 2);
    t.equal(await site.verdict(), true);
  },
);

t.test("a restore ends the refusal in every gateway, and commits go on", async (t) => {
  const site = new Site();
  const gateways = [site.gateway(), site.gateway()];
  const backup = site.counts.copy();
  for (const { commit } of gateways) await commit();
  site.counts = backup;
  for (const { watch } of gateways) await watch.start();
  t.strictSame(
    gateways.map(({ watch }) => watch.wentBack),
    [true, true],
  );
  await gateways[0]?.watch.restored();
  t.equal(gateways[0]?.watch.refusal, undefined);
  await until("the other gateway compares again", () => !gateways[1]?.watch.wentBack);
  const said = site.log.lines.filter(({ msg }) => /calls are served again/.test(String(msg)));
  t.equal(said.length, 2, "each says so once");
  for (const { commit } of gateways) await commit();
  t.equal(await site.verdict(), false);
  for (const { watch } of gateways) await watch.stop();
});

t.test("a backup from before a restore is noticed too", async (t) => {
  const site = new Site();
  const { watch } = site.gateway();
  const backup = site.counts.copy();
  await watch.start();
  await watch.restored();
  await watch.stop();
  site.counts = backup;
  t.equal(await site.verdict(), true);
});

t.test(
  "a gateway that commits before its first comparison notices that the ledger lost that",
  async (t) => {
    const site = new Site();
    await site.gateway().commit();
    site.counts.begin(0);
    const backup = site.counts.copy();
    const early = site.gateway();
    await early.commit();
    site.counts = backup;
    await early.watch.start();
    t.equal(early.watch.wentBack, true);
    await early.watch.restored();
    t.equal(early.watch.wentBack, false);
    await early.watch.stop();
  },
);

t.test(
  "a commit that is confirmed during the first comparison is not taken for lost",
  async (t) => {
    const site = new Site();
    const { history, watch, commit } = site.gateway();
    await commit();
    const { read } = history;
    history.read = async () => {
      const progress = await read.call(history);
      await history.commit();
      return progress;
    };
    await watch.start();
    t.equal(watch.refusal, undefined);
    await watch.stop();
  },
);

t.test(
  "a commit that a gateway made before it saw a restore is missed if the ledger loses it",
  async (t) => {
    const site = new Site();
    const other = site.gateway();
    const { watch, commit } = site.gateway();
    await Promise.all([watch.start(), other.watch.start()]);
    await other.watch.restored();
    const backup = site.counts.copy();
    await commit();
    site.counts = backup;
    t.equal(await site.verdict(), true);
    await Promise.all([watch.stop(), other.watch.stop()]);
  },
);

t.test("a restore that the ledger did not accept changes nothing", async (t) => {
  const site = new Site();
  const { watch, history, commit } = site.gateway();
  const backup = site.counts.copy();
  await commit();
  site.counts = backup;
  await watch.start();
  history.beginGeneration = () => Promise.reject(new Error("the ledger is down"));
  await t.rejects(watch.restored(), /down/);
  t.equal(watch.wentBack, true);
  await watch.stop();
  t.equal(await site.verdict(), true);
});

t.test(
  "a gateway with embedded balances notices an exchanged ledger at its next start",
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-progress-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const site = new Site();
    const file = () => new FileKeptProgress(systemMachine, folder, site.log.log);
    const gateway = site.gateway(file());
    const backup = site.counts.copy();
    for (let n = 0; n < 3; n += 1) await gateway.commit();
    await until("only the last file is left", () => readdirSync(folder).length === 1);
    t.equal(await site.verdict(file()), false);
    // A crash tears the next file; the one before it still counts.
    writeFileSync(join(folder, "progress.99"), '{"generation":0,"comm');
    site.counts = backup;
    t.equal(await site.verdict(file()), true);
  },
);

t.test("a commit states the count confirmed to its writer", async (t) => {
  let made = 0;
  let generation = 0;
  const writer = new LedgerWriter(() => `w${++made}`);
  const commit = (commits: number, reply: Promise<unknown> = Promise.resolve()) =>
    writer.run(async (stamp) => {
      const counted = { commits, generation };
      await reply;
      return { counted, stamp };
    });

  t.test("which has no other commit at the same time", async (t) => {
    let arrive = () => {};
    const late = commit(
      1,
      new Promise<void>((resolve) => {
        arrive = resolve;
      }),
    );
    t.strictSame((await commit(2)).stamp, { writer: "w2", confirmed: 0 });
    arrive();
    await late;
    t.strictSame((await commit(3)).stamp, { writer: "w1", confirmed: 1 });
  });

  t.test(
    "and goes on as another one after a restore, of which late replies count nothing",
    async (t) => {
      let arrive = () => {};
      const late = commit(
        4,
        new Promise<void>((resolve) => {
          arrive = resolve;
        }),
      );
      generation = 1;
      writer.enter(generation);
      arrive();
      await late;
      t.strictSame(writer.confirmed, { generation: 1, commits: new Map() });
      t.strictSame((await commit(1)).stamp, { writer: "w3", confirmed: 0 });
    },
  );

  t.test("and as another one, with the old count, after the ledger went back", async (t) => {
    await t.rejects(
      writer.run(() => Promise.reject(new LedgerWentBack())),
      LedgerWentBack,
    );
    t.strictSame((await commit(7)).stamp, { writer: "w4", confirmed: 0 });
    t.strictSame(
      [...writer.confirmed.commits],
      [
        ["w3", 1],
        ["w4", 7],
      ],
    );
  });
});
