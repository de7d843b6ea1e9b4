import { join } from "node:path";
import { arrayOf, isObject, parseJson } from "../../process/json.ts";
import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { ThrottledLog } from "../../process/throttled-log.ts";
import { isCovered, type LedgerProgress, merged, NO_PROGRESS, without } from "../ledger-history.ts";
import type { KeptProgress } from "../ledger-watch.ts";

const NAME = /^progress\.(\d+)$/;
const HOME = /^ledger\.([\w-]+)$/;

/**
 * The highest progress of the ledger that this gateway saw, in a file beside the journal. A new file replaces the one
 * before only once it is on the disk. Wallets are in memory only, so the file is for the next start: it shows the
 * operator that the ledger was replaced in between.
 */
export class FileKeptProgress implements KeptProgress {
  private readonly failures: ThrottledLog;
  private kept: LedgerProgress | undefined;
  private number = 0;
  private homeId: string | undefined;

  constructor(
    private readonly machine: Machine,
    private readonly folder: string,
    log: Log,
  ) {
    this.failures = new ThrottledLog(log, { nowMs: () => machine.monotonic() });
  }

  /** The name of a file says which ledger it is. */
  home(ledgerId: string): string {
    const { disk } = this.machine;
    [this.homeId] = this.homeId
      ? [this.homeId]
      : disk.list(this.folder).flatMap((name) => HOME.exec(name)?.[1] ?? []);
    if (this.homeId !== undefined) return this.homeId;
    disk.close(disk.create(join(this.folder, `ledger.${ledgerId}`)));
    disk.syncFolder(this.folder);
    return ledgerId;
  }

  keep(progress: LedgerProgress, dropped: ReadonlyMap<string, number>): LedgerProgress {
    const before = this.kept ?? this.read();
    const kept = merged(without(before, dropped), progress);
    const isNew = kept.generation !== before.generation || !isCovered(kept.commits, before.commits);
    this.kept = kept;
    if (isNew) this.write(kept);
    return kept;
  }

  raise(progress: LedgerProgress): void {
    this.keep(progress, new Map());
  }

  private read(): LedgerProgress {
    const { disk } = this.machine;
    let kept = NO_PROGRESS;
    for (const number of this.numbers()) {
      this.number = Math.max(this.number, number);
      kept = merged(kept, progressIn(disk.read(this.path(number)).toString("utf8")));
    }
    return kept;
  }

  /** If this fails, the file before stays, and the next start may miss that the ledger lost the latest commits. */
  private write(progress: LedgerProgress): void {
    const { disk } = this.machine;
    const before = this.numbers();
    this.number += 1;
    let opened: number | undefined;
    try {
      const fd = disk.create(this.path(this.number));
      opened = fd;
      const bytes = Buffer.from(textOf(progress));
      let written = 0;
      while (written < bytes.length) {
        written += disk.write(fd, bytes, written, bytes.length - written);
      }
      disk.syncSoon(fd, (error) => {
        disk.close(fd);
        if (error !== null) return this.failed(error);
        for (const number of before) this.remove(number);
      });
    } catch (error) {
      if (opened !== undefined) disk.close(opened);
      this.failed(error);
      // A full disk would get one more empty file at each look.
      this.remove(this.number);
    }
  }

  private remove(number: number): void {
    const { disk } = this.machine;
    try {
      if (disk.exists(this.path(number))) disk.remove(this.path(number));
    } catch (error) {
      this.failed(error);
    }
  }

  private failed(error: unknown): void {
    this.failures.warn(
      { err: error },
      "cannot write the ledger's progress; the next start may miss that the ledger went back",
    );
  }

  private numbers(): number[] {
    const names = this.machine.disk.list(this.folder);
    return names.flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
  }

  private path(number: number): string {
    return join(this.folder, `progress.${number}`);
  }
}

function textOf({ generation, commits }: LedgerProgress): string {
  return `${JSON.stringify({ generation, commits: [...commits] })}\n`;
}

/** Returns nothing for a file that was torn by a crash: the one before is still there. */
function progressIn(text: string): LedgerProgress {
  const parsed = parseJson(text);
  if (!isObject(parsed) || typeof parsed["generation"] !== "number") return NO_PROGRESS;
  const commits = new Map<string, number>();
  for (const pair of arrayOf(parsed["commits"])) {
    const [writer, count] = arrayOf(pair);
    if (typeof writer === "string" && typeof count === "number") commits.set(writer, count);
  }
  return { generation: parsed["generation"], commits };
}
