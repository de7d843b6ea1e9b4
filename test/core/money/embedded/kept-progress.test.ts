import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { FileKeptProgress } from "../../../../core/money/embedded/kept-progress.ts";
import { createEmbeddedHoldStore } from "../../../../core/money/embedded/store.ts";
import { NO_PROGRESS } from "../../../../core/money/ledger-history.ts";
import type { Disk } from "../../../../core/process/disk.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { CommitCounts, MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting } from "../../../support/posting.ts";
import { until } from "../../../support/until.ts";

const NOTHING = new Map<string, number>();

let folder: string;

t.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-progress-"));
});

t.afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Kept progress on a disk that counts its open files, and fails as the test says. */
function stage(changes: Partial<Disk> = {}) {
  const open = new Set<number>();
  const { disk } = systemMachine;
  const counted: Partial<Disk> = {
    create: (path) => {
      const fd = disk.create(path);
      open.add(fd);
      return fd;
    },
    close: (fd) => {
      open.delete(fd);
      disk.close(fd);
    },
    ...changes,
  };
  const { log, lines } = recordedLog();
  const machine = { ...systemMachine, disk: { ...disk, ...counted } };
  const kept = new FileKeptProgress(machine, folder, log);
  const keep = (count: number) => kept.keep({ generation: 1, commits: commitsOf(count) }, NOTHING);
  return { keep, kept, open, lines };
}

const commitsOf = (count: number) => new Map([["w", count]]);
const files = () => readdirSync(folder).sort();
/** Returns the progress that the next start finds. */
const found = () => stage().kept.keep(NO_PROGRESS, NOTHING);

t.test(
  "the next start finds the highest counts, in one file, and no file stays open",
  async (t) => {
    const { keep, open, lines } = stage();
    for (const count of [1, 2, 3]) {
      keep(count);
      await until("only the new file is left", () => files().join() === `progress.${count}`);
    }
    keep(2);
    t.strictSame(files(), ["progress.3"], "a lower count is no news");
    t.strictSame([open.size, lines], [0, []]);
    t.strictSame(found(), { generation: 1, commits: commitsOf(3) });
  },
);

t.test("a file that the disk takes byte by byte is whole", async (t) => {
  const { disk } = systemMachine;
  const { keep } = stage({ write: (fd, bytes, from) => disk.write(fd, bytes, from, 1) });
  keep(1_234);
  t.strictSame(found(), { generation: 1, commits: commitsOf(1_234) });
});

t.test("a start adds up what several files say, and skips a torn one", async (t) => {
  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
  write("progress.3", { generation: 1, commits: [["a", 99]] });
  write("progress.4", { generation: 2, commits: [["a", 1], ["b", 9], ["c"], [1, 2]] });
  write("progress.7", { generation: 2, commits: [["a", 5]] });
  write("progress.8", '{"generation":9,"comm');
  write("progress.9", { commits: [["d", 1]] });
  write("other", { generation: 9, commits: [] });
  const { kept } = stage();
  const first = kept.keep({ generation: 2, commits: new Map([["e", 1]]) }, NOTHING);
  const known = [
    ["a", 5],
    ["b", 9],
    ["e", 1],
  ];
  t.strictSame([first.generation, [...first.commits].sort()], [2, known]);
  await until("one file has all of it", () => files().join() === "other,progress.10");
  t.strictSame([...found().commits].sort(), known);
});

t.test("a disk that fails is logged, and the file before it stays", async (t) => {
  let isFull = false;
  const { disk } = systemMachine;
  const { keep, lines } = stage({
    write: (...args) => {
      if (isFull) throw new Error("ENOSPC");
      return disk.write(...args);
    },
  });
  keep(1);
  isFull = true;
  t.strictSame(keep(2), { generation: 1, commits: commitsOf(2) }, "the process goes on");
  t.match(lines, [{ msg: /cannot write the ledger's progress/ }]);
  t.strictSame(files(), ["progress.1"], "nothing of the failed one is left");
  t.strictSame(found(), { generation: 1, commits: commitsOf(1) });
});

t.test("a file that could not be synced replaces none", async (t) => {
  let isFailing = false;
  const { disk } = systemMachine;
  const { keep, lines, open } = stage({
    syncSoon: (fd, done) =>
      isFailing ? setImmediate(done, new Error("EIO")) : disk.syncSoon(fd, done),
  });
  keep(1);
  await until("it is on the disk", () => open.size === 0);
  isFailing = true;
  keep(2);
  await until("the failure is logged", () => lines.length > 0);
  t.strictSame([files(), open.size], [["progress.1", "progress.2"], 0]);
});

t.test("a folder with the calls of one ledger is not used with another", async (t) => {
  const start = async (id: string) => {
    const counts = new CommitCounts();
    counts.id = id;
    const { log } = recordedLog();
    const store = createEmbeddedHoldStore({
      journal: { folder, bytesMax: 1e6, sync: false, log },
      outboxEntriesMax: 1_000,
      history: new MemoryHistory(() => counts),
    });
    await store.start();
    return store;
  };
  const first = await start("a");
  first.post(posting({ callId: "c1", accountId: "A", costMicroVnd: 0 }));
  await first.stop();
  await t.rejects(start("b"), /has the money of ledger a, and stores.ledger is ledger b/);
  const again = await start("a");
  t.equal(again.uncommittedCalls(), 1, "nothing was committed elsewhere");
  await again.stop();
});
