import type { Services } from "../../core/plugin/index.ts";
import { codesIn } from "./code.ts";
import { APART_DAYS_MAX, identify, idWithFacts } from "./identity.ts";
import type { Settings } from "./options.ts";
import {
  alikeTransfers,
  type NewTransfer,
  nameTransfer,
  newestOf,
  recordTransfer,
  type Transfer,
} from "./transfers.ts";

/** The recorded transfer of a report. `isNew` is false if another report of it was recorded before. */
export interface Recorded {
  readonly transfer: Transfer;
  readonly isNew: boolean;
}

type Verdicts = Awaited<ReturnType<typeof identify>>;

/** A statement of so many transfers cannot be compared at once. */
export class TooManyAlike extends Error {}

const ATTEMPTS = 10;
/** Of all amounts that a statement has, on its days and those around them: 4,000 a day. */
const ALIKE_MAX = 100_000;
const DAY_MS = 86_400_000;

/**
 * Records the transfers that SePay's notifications, SePay's list and imported statements report, each transfer once,
 * in any order of these sources.
 */
export class Recording {
  private readonly prefix: string;
  private readonly counts: { unmatched: number; found: number };

  constructor(
    private readonly services: Services,
    settings: Settings,
    counts: Recording["counts"],
  ) {
    this.prefix = settings.order_prefix;
    this.counts = counts;
  }

  /**
   * Records what is not recorded yet, in the order of the reports, which are of one source. What another one may be waits
   * for an operator, with the cause `alike`. Rejects if the database fails; a repetition goes on from there.
   */
  async record(reports: readonly NewTransfer[]): Promise<Recorded[]> {
    const done: Recorded[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const newest = await this.newest(reports);
      const verdicts = await this.compare(reports);
      if (await this.recordAll(reports, verdicts, newest, done)) return done;
    }
    throw new Error(`transfers of these amounts changed during each of ${ATTEMPTS} attempts`);
  }

  /** Compares reports with what is recorded, and records nothing. */
  async compare(reports: readonly NewTransfer[]): Promise<Verdicts> {
    if (reports.length === 0) return [];
    const days = reports.flatMap(({ bankDay }) => bankDay ?? []).sort();
    // Of a report without a day, those of any day.
    const hasAll = days.length === reports.length;
    const recorded = await alikeTransfers(
      this.services.database,
      reports.flatMap((report) => [report.id, idWithFacts(report)]),
      amountsOf(reports),
      {
        first: hasAll ? shifted(days[0], -APART_DAYS_MAX) : "-infinity",
        last: hasAll ? shifted(days.at(-1), APART_DAYS_MAX) : "infinity",
      },
      reports.some(({ source }) => source === "import"),
      ALIKE_MAX,
    );
    if (recorded.length === ALIKE_MAX) {
      const message = `${ALIKE_MAX} transfers or more have these amounts in these weeks; import fewer days at once.`;
      throw new TooManyAlike(message);
    }
    const known = recorded.map((transfer) => ({
      ...transfer,
      codes: codesIn(
        [transfer.content, transfer.bankReference, transfer.orderCode].map((text) => text ?? ""),
        this.prefix,
      ),
    }));
    return identify(reports, known);
  }

  private newest(reports: readonly NewTransfer[]): Promise<Map<bigint, bigint>> {
    return newestOf(this.services.database, amountsOf(reports));
  }

  /** Returns false if another process has recorded one of these amounts since they were compared. */
  private async recordAll(
    reports: readonly NewTransfer[],
    verdicts: Verdicts,
    newest: Map<bigint, bigint>,
    done: Recorded[],
  ): Promise<boolean> {
    const { database } = this.services;
    for (const [at, report] of reports.entries()) {
      const verdict = verdicts[at];
      if (done[at] || !verdict) continue;
      if (verdict.kind === "known") {
        const { transfer } = verdict;
        const isUnnamed = report.source !== "import" && transfer.sepayId === null;
        if (isUnnamed && !(await nameTransfer(database, transfer.id, report.id))) return false;
        done[at] = { transfer, isNew: false };
        continue;
      }
      const amount = report.amountMicroVnd ?? 0n;
      const wanted = { ...report, alike: null, ...differenceOf(report, verdict) };
      const transfer = await recordTransfer(database, wanted, newest.get(amount) ?? 0n);
      if (!transfer) return false;
      newest.set(amount, transfer.sequence);
      done[at] = { transfer, isNew: true };
      this.count(transfer);
    }
    return true;
  }

  private count(transfer: Transfer): void {
    if (transfer.source === "poll") this.counts.found++;
    if (transfer.state !== "unmatched") return;
    this.counts.unmatched++;
    this.services.log.warn(
      { transfer: transfer.id, cause: transfer.cause },
      "cannot match a transfer; an operator must decide",
    );
  }
}

/** Returns what is recorded otherwise than reported. */
function differenceOf(
  report: NewTransfer,
  verdict: Verdicts[number],
): Partial<Transfer & NewTransfer> {
  switch (verdict.kind) {
    case "other_facts":
      return { id: idWithFacts(report), hindrance: report.hindrance ?? "known_id" };
    case "unclear":
      return { hindrance: "alike", alike: verdict.alike };
    default:
      return {};
  }
}

function amountsOf(reports: readonly NewTransfer[]): bigint[] {
  return [...new Set(reports.flatMap(({ amountMicroVnd }) => amountMicroVnd ?? []))];
}

function shifted(day: string | undefined, days: number): string {
  return new Date(Date.parse(day ?? "") + days * DAY_MS).toISOString().slice(0, 10);
}
