import t from "tap";
import type { Database } from "../../../../core/database/database.ts";
import { BalancesLock } from "../../../../core/money/ledger/balances-lock.ts";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { recordedLog } from "../../../support/log.ts";
import { ManualMachine } from "../manual-machine.ts";

const BEAT_MS = LIFETIMES.balancesBeatMs;

/** The row of the lock, in a database of its own, and gateways that want it. */
class Ledger {
  row: { folder: string; session: string; place: string; beats: bigint; at: Date } | undefined;
  isAway = false;
  /** How often the row went from one session to another. */
  takenOver = 0;
  isIdle = true;
  readonly machine = new ManualMachine();
  private gateways = 0;

  lock(folder: string, { host = "h1", path = `/data/${folder}` } = {}) {
    const { log, lines } = recordedLog();
    this.gateways += 1;
    const lock = new BalancesLock({
      ...{ session: `s${this.gateways}`, folder, host, path, log, machine: this.machine },
      database: { query: this.query } as unknown as Database,
      forgetWallets: () => this.isIdle,
    });
    return { lock, lines };
  }

  /** Lets the time pass until this is done. */
  async after<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = () => {
      isDone = true;
    };
    work.then(mark, mark);
    for (await this.machine.advance(0); !isDone; ) await this.machine.advance(BEAT_MS);
    return work;
  }

  private readonly query = async (text: string, values: readonly unknown[] = []) => {
    if (this.isAway) throw new Error("away");
    const [one, two, three, four] = values as string[];
    const at = new Date(this.machine.now());
    const { row } = this;
    if (text.startsWith("insert")) {
      if (row) return [];
      this.row = { folder: one ?? "", session: two ?? "", place: three ?? "", beats: 0n, at };
      return [{}];
    }
    if (text.includes("where session = $3")) {
      if (row === undefined || row.session !== three || String(row.beats) !== String(four))
        return [];
      this.takenOver += 1;
      Object.assign(row, { session: one, place: two, beats: row.beats + 1n, at });
      return [{}];
    }
    if (text.includes("set beats = beats + 1, at = now() where session = $1")) {
      if (row === undefined || row.session !== one) return [];
      row.beats += 1n;
      return [{}];
    }
    if (text.startsWith("delete") && row?.session === one) this.row = undefined;
    return text.startsWith("select folder") && row ? [{ ...row }] : [];
  };
}

t.test("a free lock is taken at once, without taking anything over", async (t) => {
  const ledger = new Ledger();
  const { lock } = ledger.lock("a");
  await lock.start();
  t.match([ledger.row, ledger.takenOver], [{ folder: "a", session: "s1" }, 0]);
  await ledger.after(lock.stop(true));
  t.equal(ledger.row, undefined, "given back");
});

t.test("a gateway that stops with uncommitted calls keeps the lock for its folder", async (t) => {
  const ledger = new Ledger();
  const { lock } = ledger.lock("a");
  await lock.start();
  await ledger.after(lock.stop(false));
  t.equal(ledger.row?.session, "s1");
  await t.rejects(ledger.lock("b").lock.start(), /kept by process \d+ on h1 with data folder/);
  const next = ledger.lock("a").lock;
  await next.start();
  t.equal(ledger.row?.session, "s3", "the same folder takes it over");
  await ledger.after(next.stop(true));
});

t.test("a folder elsewhere waits to see if the owner of the lock beats", async (t) => {
  for (const [elsewhere, isAlive] of [
    [{ host: "h2" }, false],
    [{ path: "/copy" }, false],
    [{ host: "h2" }, true],
  ] as const) {
    const ledger = new Ledger();
    const owner = ledger.lock("a").lock;
    await owner.start();
    if (!isAlive) await ledger.after(owner.stop(false));
    const { lock } = ledger.lock("a", elsewhere);
    const startedMs = ledger.machine.monotonic();
    const starting = ledger.after(lock.start());
    if (isAlive) await t.rejects(starting, /on h1/);
    else await starting;
    t.equal(ledger.row?.session, isAlive ? "s1" : "s2");
    t.ok(ledger.machine.monotonic() - startedMs >= LIFETIMES.balancesSilentMs);
    await ledger.after(Promise.all([lock.stop(false), isAlive && owner.stop(false)]));
  }
});

t.test(
  "a lost lock refuses calls, and is taken back at the next beat once it is free",
  async (t) => {
    const ledger = new Ledger();
    const { lock, lines } = ledger.lock("a");
    await lock.start();
    await ledger.machine.advance(0);
    const other = {
      folder: "b",
      session: "x",
      place: "process 1 on h9",
      beats: 0n,
      at: new Date(0),
    };
    ledger.row = other;
    await ledger.machine.advance(BEAT_MS);
    t.match(lock.refusal(), /^another gateway keeps the balances of this ledger: process 1 on h9$/);
    await ledger.machine.advance(3 * BEAT_MS);
    t.equal(lines.length, 1, "said once");
    ledger.row = undefined;
    ledger.isIdle = false;
    await ledger.machine.advance(BEAT_MS);
    t.match(lock.refusal(), /none now$/, "its wallets are in use");
    ledger.isIdle = true;
    await ledger.machine.advance(BEAT_MS);
    t.equal(lock.refusal(), undefined);
    t.equal(lines.length, 2);
    await ledger.after(lock.stop(true));
  },
);

t.test(
  "a row that an earlier process of this folder left is taken, and of none other",
  async (t) => {
    const place = (pid: number, path = "/data/a") =>
      `process ${pid} on h1 with data folder ${path}`;
    for (const [left, isTaken] of [
      [{ folder: "a", place: place(1) }, true],
      [{ folder: "a", place: place(1, "/copy") }, false],
      [{ folder: "b", place: place(1) }, false],
    ] as const) {
      const ledger = new Ledger();
      const { lock } = ledger.lock("a");
      await lock.start();
      await ledger.machine.advance(0);
      // A restored ledger has the row as it was.
      ledger.row = { ...left, session: "old", beats: 5n, at: new Date(0) };
      await ledger.machine.advance(BEAT_MS);
      t.ok(lock.refusal(), "a loss is noticed before it ends");
      await ledger.machine.advance(BEAT_MS);
      t.equal(lock.refusal() === undefined, isTaken);
      t.equal(ledger.row?.session, isTaken ? "s1" : "old");
      await ledger.after(lock.stop(false));
    }
  },
);

t.test("an outage of the ledger takes no lock away", async (t) => {
  const ledger = new Ledger();
  const { lock } = ledger.lock("a");
  await lock.start();
  ledger.isAway = true;
  await ledger.machine.advance(5 * BEAT_MS);
  t.equal(lock.refusal(), undefined);
  await ledger.after(lock.stop(true));
  t.equal(ledger.row?.session, "s1", "and a stop in it fails nothing");
});
