import { dayOf, formatVnd, keyLimits, type Services, startOfDay } from "../../core/plugin/index.ts";
import type { Member } from "./members.ts";

/** The charges of a member, in µđ. */
interface Spent {
  readonly today: bigint;
  readonly month: bigint;
}

const NOTHING: Spent = { today: 0n, month: 0n };

/** Returns what the members of a team spent today and this month, in Vietnam, by the id of the member. */
export async function spentByMember(
  { accounts, usage, clock }: Services,
  accountId: string,
): Promise<ReadonlyMap<string, Spent>> {
  const { today, month } = starts(clock.now());
  const [keys, ofToday, ofMonth] = await Promise.all([
    accounts.keys(accountId),
    usage.sums(accountId, ["key"], { from: today }),
    usage.sums(accountId, ["key"], { from: month }),
  ]);
  const memberOf = new Map(keys.map(({ id, memberId }) => [id, memberId]));
  const spent = new Map<string, Spent>();
  const add = (sums: typeof ofToday.sums, name: keyof Spent) => {
    for (const { key = "", chargedMicroVnd } of sums) {
      const member = memberOf.get(key);
      if (!member) continue;
      const before = spent.get(member) ?? NOTHING;
      spent.set(member, { ...before, [name]: before[name] + chargedMicroVnd });
    }
  };
  add(ofToday.sums, "today");
  add(ofMonth.sums, "month");
  return spent;
}

/** Returns what one member spent. */
export async function spentOf(
  { usage, clock }: Services,
  { id, accountId }: Member,
): Promise<Spent> {
  const { today, month } = starts(clock.now());
  const [ofToday, ofMonth] = await Promise.all(
    [today, month].map((from) => usage.sums(accountId, ["model"], { from, member: id })),
  );
  return {
    today: ofToday?.total.chargedMicroVnd ?? 0n,
    month: ofMonth?.total.chargedMicroVnd ?? 0n,
  };
}

/** Returns a member as every API shows him, with what he spent and what is left of his budgets. */
export async function memberJson(
  services: Services,
  member: Member,
  email: string,
  spent: Spent = NOTHING,
) {
  const { id, accountId, limits, joinedAt, removedAt } = member;
  const isIn = joinedAt !== null && removedAt === null;
  return {
    id,
    email,
    role: member.role,
    state: stateOf(member),
    spent_today_vnd: formatVnd(spent.today),
    spent_month_vnd: formatVnd(spent.month),
    limits,
    budgets: isIn
      ? await keyLimits.budgets(services, accountId, { kind: "member", id }, limits)
      : [],
    invited_at: member.invitedAt.toISOString(),
    joined_at: joinedAt?.toISOString() ?? null,
    removed_at: removedAt?.toISOString() ?? null,
  };
}

function stateOf({ joinedAt, removedAt, limits }: Member) {
  if (removedAt) return "removed";
  if (joinedAt === null) return "invited";
  return limits.paused ? "paused" : "active";
}

function starts(nowMs: number): { readonly today: Date; readonly month: Date } {
  const day = dayOf(new Date(nowMs));
  return { today: startOfDay(day), month: startOfDay(`${day.slice(0, 7)}-01`) };
}
