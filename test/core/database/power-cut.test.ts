import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { EmbeddedDatabase } from "../../../core/database/embedded.ts";
import { createPostgresLedger, type PostgresLedger } from "../../../core/money/ledger/postgres.ts";
import { recordedLog } from "../../support/log.ts";
import { cutPower, syncedPaths, traced, traceUpTo } from "../../support/power-cut.ts";
import { Random } from "../../support/random.ts";
import { AT, agreedBalance, charge, fundedAccount, topUp } from "../money/ledger/fixtures.ts";

/** `CUTS=50` for a longer run. */
const CUTS = Number(process.env["CUTS"] ?? 2);
const random = Random.printed();

const clock = { now: () => AT, monotonic: () => 0 };
const { log } = recordedLog();
const root = mkdtempSync(join(tmpdir(), "tollgate-power-cut-"));
const folder = join(root, "ledger");
const files = join(folder, "postgres");
/** The files after a clean stop: all of them are on the disk. */
const base = join(root, "base");

t.teardown(() => rmSync(root, { recursive: true, force: true }));

interface Options {
  readonly wrapper?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

async function started(path: string, options: Options): Promise<PostgresLedger> {
  const server = new EmbeddedDatabase({ folder: path, log, ...options });
  const ledger = createPostgresLedger({ server, clock, log });
  await ledger.start();
  return ledger;
}

t.test("a new database counts only once all its files are on the disk", async (t) => {
  const trace = join(root, "first");
  const ledger = await started(folder, { wrapper: await traced(trace, "syncs") });
  const synced = [...syncedPaths(readFileSync(trace, "latin1"))];
  await ledger.stop();
  cpSync(files, base, { recursive: true });
  const names = new Set(
    synced.map((path) => /\/postgres\.new-[^/]*\/(.*)$/.exec(path)?.[1]).filter(Boolean),
  );
  t.ok(names.size > 900, `${names.size} paths are synced`);
  for (const name of ["PG_VERSION", "global/pg_control", "postgresql.conf", "pg_hba.conf"]) {
    t.ok(names.has(name), name);
  }
});

interface Confirmed {
  readonly accountId: string;
  readonly balance: bigint;
  /** The length of the trace at this time. */
  readonly bytes: number;
}

/**
 * Tops up and charges, one movement after another, then cuts the power at random moments. Returns a line for each cut
 * that lost something that was confirmed.
 */
async function losses(name: string, settings: Options["settings"] = {}): Promise<string[]> {
  const trace = join(root, name);
  rmSync(files, { recursive: true });
  cpSync(base, files, { recursive: true });
  const ledger = await started(folder, { settings, wrapper: await traced(trace, "changes") });
  const confirmed: Confirmed[] = [];
  let accountId = "";
  let balance = 0n;
  for (let n = 0; n < 40; n += 1) {
    if (n % 10 === 0) {
      accountId = await fundedAccount(ledger, 1_000n);
      balance = 1_000n;
    } else if (n % 3 === 0) {
      await ledger.commit([charge(accountId, 7), charge(accountId, 8)]);
      balance -= 15n;
    } else {
      await ledger.credit(topUp(accountId, 100n));
      balance += 100n;
    }
    confirmed.push({ bytes: statSync(trace).size, accountId, balance });
    if (n === 20) await ledger.database.query("checkpoint");
  }
  await ledger.stop();
  const lost: string[] = [];
  for (let cut = 0; cut < CUTS; cut += 1) {
    const last = random.below(confirmed.length);
    const { bytes = 0 } = confirmed[last] ?? {};
    const copy = join(root, `${name}-${cut}`);
    cpSync(base, join(copy, "postgres"), { recursive: true });
    cutPower(traceUpTo(trace, bytes), {
      folder: files,
      copy: join(copy, "postgres"),
      random: () => random.fraction(),
    });
    const fault = await faultOf(copy, confirmed.slice(0, last + 1));
    if (fault !== undefined) lost.push(`cut after ${last}: ${fault}`);
    rmSync(copy, { recursive: true });
  }
  return lost;
}

async function faultOf(path: string, confirmed: readonly Confirmed[]): Promise<string | undefined> {
  let ledger: PostgresLedger;
  try {
    ledger = await started(path, {});
  } catch (error) {
    return String(error);
  }
  try {
    for (const [accountId, { balance }] of new Map(
      confirmed.map((each) => [each.accountId, each]),
    )) {
      const found = await agreedBalance(ledger, accountId);
      if (found !== balance) return `${found} of ${balance}`;
    }
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    await ledger.stop();
  }
}

t.test("a power cut loses nothing that was confirmed", async (t) => {
  t.strictSame(await losses("durable"), []);
});

t.test("without syncs, the same cuts lose it", async (t) => {
  const lost = await losses("unsynced", { fsync: "off" });
  t.equal(lost.length, CUTS);
});
