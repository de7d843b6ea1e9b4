import { dayOf, MICRO_VND_PER_VND, type Services } from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";
import type { Transfer } from "./transfers.ts";

type Database = Services["database"];
type Bonus = Settings["promotions"]["bonuses"][number];

/** A bonus that a transfer has earned. */
interface Earned {
  readonly name: string;
  readonly title: string;
  readonly amountMicroVnd: bigint;
  /** Of its row in the ledger. */
  readonly reference: string;
}

/** Returns the day in Vietnam by which a transfer's bonuses go: that of the bank, else of the report. */
export function dayOfTransfer({ bankDay, receivedAt }: Transfer): string {
  return bankDay ?? dayOf(receivedAt);
}

/** Returns the bonuses that a transfer of this amount and day may earn, with their amounts. */
export function offersOf(bonuses: readonly Bonus[], amountMicroVnd: bigint, day: string) {
  return bonuses.flatMap((bonus) => {
    const amount = bonusOf(bonus, amountMicroVnd);
    return isOpen(bonus, day) && amount > 0n ? [{ ...bonus, amountMicroVnd: amount }] : [];
  });
}

function bonusOf({ percent, minimum_vnd, bonus_max_vnd }: Bonus, amountMicroVnd: bigint): bigint {
  const unit = BigInt(MICRO_VND_PER_VND);
  if (amountMicroVnd < BigInt(minimum_vnd) * unit) return 0n;
  const vnd = (amountMicroVnd * BigInt(percent)) / 100n / unit;
  const most = bonus_max_vnd === undefined ? vnd : BigInt(bonus_max_vnd);
  return (vnd < most ? vnd : most) * unit;
}

function isOpen({ first_day, last_day }: Bonus, day: string): boolean {
  return first_day <= day && day <= last_day;
}

/** Returns the bonuses of a transfer that the ledger has. The first call decides them: see `decide_bonuses`. */
export function decideBonuses(
  database: Database,
  transferId: string,
  offers: ReturnType<typeof offersOf>,
): Promise<Earned[]> {
  const all = offers.map(({ name, title, applies, adds_up, amountMicroVnd }) => ({
    ...{ name, title, applies, adds_up, amount: String(amountMicroVnd) },
  }));
  return database.query(
    `select name, title, amount as "amountMicroVnd", reference from decide_bonuses($1, $2::text::json)`,
    [transferId, JSON.stringify(all)],
  );
}

/** Forgets a bonus that the wallet has refused for good. */
export async function dropBonus(database: Database, { reference }: Earned): Promise<void> {
  await database.query("delete from topup_bonuses where reference = $1", [reference]);
}

/** Returns the bonuses of today that the next transfer of an account can earn. */
export async function openBonuses(
  database: Database,
  bonuses: readonly Bonus[],
  accountId: string,
  nowMs: number,
): Promise<Bonus[]> {
  const today = bonuses.filter((bonus) => isOpen(bonus, dayOf(new Date(nowMs))));
  if (today.every(({ applies }) => applies === "each_time")) return today;
  const [row] = await database.query<{ hasTransfers: boolean; earned: string[] }>(
    `select exists (
        select from bank_transfers where account_id = $1 and state in ('matched', 'credited')
      ) as "hasTransfers",
      array(
        select name from topup_bonuses where account_id = $1 and taken_back_of(reference) < amount
      ) as earned`,
    [accountId],
  );
  return today.filter(({ name, applies }) => {
    if (applies === "each_time") return true;
    if (row?.earned.includes(name)) return false;
    return applies === "once_per_customer" || !row?.hasTransfers;
  });
}

/** Returns what a transfer of this amount would earn of open bonuses: the best one, and those that add up. */
export function expectedBonus(open: readonly Bonus[], amountMicroVnd: bigint): bigint {
  let best = 0n;
  let added = 0n;
  for (const bonus of open) {
    const amount = bonusOf(bonus, amountMicroVnd);
    if (bonus.adds_up) added += amount;
    else if (amount > best) best = amount;
  }
  return best + added;
}

/** A bonus as customers see it. */
export function bonusJson(bonus: Bonus) {
  const { name, title, first_day, last_day, percent, minimum_vnd, bonus_max_vnd } = bonus;
  return {
    ...{ name, title, first_day, last_day, percent, minimum_vnd: String(minimum_vnd) },
    bonus_max_vnd: bonus_max_vnd === undefined ? null : String(bonus_max_vnd),
    applies: bonus.applies,
    adds_up: bonus.adds_up,
  };
}
