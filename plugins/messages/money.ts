import {
  dayOf,
  MICRO_VND_PER_VND,
  PeriodicTask,
  type Services,
  ThrottledLog,
} from "../../core/plugin/index.ts";
import { budgetTexts, lowBalanceTexts, topUpTexts } from "./money-texts.ts";
import type { Outbox } from "./outbox.ts";

const POLL_MS = 2_000;
const LOOK_MS = 15_000;
/** After it, another gateway makes the look that a killed one had begun. */
const LEASE_MS = 120_000;
/** Of a budget, in percent, from which its owner gets a mail. */
const NEAR = 80;
const KEY_PURSE = /^key:([0-9a-f-]{36}):/;

type Moved = Awaited<ReturnType<Services["usage"]["moved"]>>;

interface LowWallet {
  readonly accountId: string;
  readonly entry: string;
  readonly balance: number;
  readonly low: number;
}

/**
 * Writes customers mails about their money: top-ups and credits, low balances, budgets of keys. Looks every 15 s at what the ledger
 * has moved, so that calls pay nothing for it. One gateway looks at a time, and goes on after the last look of any. What it writes
 * again has the same cause.
 */
export class MoneyMessages {
  private readonly lowMicroVnd: number;
  private readonly log: ThrottledLog;
  private readonly task = new PeriodicTask(async () => {
    await this.look().catch((error: unknown) => {
      this.log.warn({ err: error }, "cannot look for messages about money; they are written later");
    });
    return POLL_MS;
  });

  /** `lowVnd`: see the option `low_balance_vnd`. */
  constructor(
    private readonly services: Services,
    private readonly outbox: Outbox,
    lowVnd: number,
  ) {
    this.lowMicroVnd = lowVnd * MICRO_VND_PER_VND;
    this.log = new ThrottledLog(services.log);
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async look(): Promise<void> {
    const { customers, database, usage } = this.services;
    // A reload may add the plugin that signs customers in: it knows the address of the links.
    if (customers.current.publicUrl === undefined) return;
    const [claimed] = await database.query<{ through: bigint | null }>(
      "update message_looks set due_at = $2 where due_at <= $1 returning through",
      [this.at(0), this.at(LEASE_MS)],
    );
    if (claimed === undefined) return;
    const [highest] = await database.query<{ low: number }>(
      "select greatest(max(low_balance), $1)::float8 as low from message_settings",
      [this.lowMicroVnd],
    );
    const moved = await usage.moved(claimed.through ?? undefined, highest?.low ?? 0);
    await this.writeLows(moved);
    await this.writeBudgets(moved);
    await this.writeTopUps(moved);
    await database.query("update message_looks set through = $1, due_at = $2", [
      moved.through,
      this.at(LOOK_MS),
    ]);
  }

  private async writeTopUps({ topUps }: Moved): Promise<void> {
    for (const topUp of topUps) {
      const { accountId, entry } = topUp;
      const texts = topUpTexts(topUp, this.url);
      await this.outbox.post({ accountId, cause: `top-up ${entry}`, kind: "top-up", texts });
    }
  }

  /** One mail until the balance is above the threshold again. After a crash between its two steps, there is a second one. */
  private async writeLows({ wallets }: Moved): Promise<void> {
    const { config, database } = this.services;
    const list = JSON.stringify(wallets);
    const given = `given as (
      select "accountId" as account_id, entry, "isCharged", "balanceMicroVnd" as balance, coalesce(low_balance, $2) as low
      from json_to_recordset($1::text::json) moved ("accountId" uuid, entry text, "isCharged" boolean, "balanceMicroVnd" bigint)
      left join message_settings on account_id = "accountId"
    )`;
    const lows = await database.query<LowWallet>(
      `with ${given},
      above as (
        delete from message_lows using given
        where message_lows.account_id = given.account_id and balance >= low
      )
      select account_id as "accountId", entry, balance::float8 as balance, low::float8 as low from given
      where "isCharged" and balance < low and account_id not in (select account_id from message_lows)`,
      [list, this.lowMicroVnd],
    );
    const canTopUp = config.plugins.some(({ name }) => name === "topup" || name === "vouchers");
    for (const { accountId, entry, balance, low } of lows) {
      const texts = lowBalanceTexts(balance, low, { url: this.url, canTopUp });
      const cause = `low-balance ${accountId} ${entry}`;
      await this.outbox.post({ accountId, cause, kind: "low-balance", texts });
      await database.query(
        "insert into message_lows (account_id) values ($1) on conflict do nothing",
        [accountId],
      );
    }
  }

  private async writeBudgets({ purses, overBudget }: Moved): Promise<void> {
    const charged = new Map(purses.map((one) => [one.name, one.chargedMicroVnd]));
    const near = purses.flatMap(({ accountId, name }) => {
      const keyId = KEY_PURSE.exec(name)?.[1];
      return keyId === undefined ? [] : [{ accountId, keyId }];
    });
    const today = dayOf(new Date(this.services.clock.now()));
    // The budget of a day that is over says nothing of today's.
    const refused = overBudget.filter(({ day }) => day === today);
    const over = new Set(refused.map(({ keyId }) => keyId));
    const wanted = [...near, ...refused];
    const ids = new Set(wanted.map(({ keyId }) => keyId));
    for (const accountId of new Set(wanted.map((one) => one.accountId))) {
      const keys = await this.services.accounts.keys(accountId);
      for (const key of keys.filter(({ id }) => ids.has(id))) {
        await this.writeBudgetsOf(key, charged, over.has(key.id));
      }
    }
  }

  /** `isRefused`: a call was refused for one of its budgets. That is the one of which the most is spent. */
  private async writeBudgetsOf(
    key: Awaited<ReturnType<Services["accounts"]["keys"]>>[number],
    charged: ReadonlyMap<string, number>,
    isRefused: boolean,
  ): Promise<void> {
    const { accounts, clock, purse } = this.services;
    const { id, accountId, limits, status } = key;
    if (status === "revoked") return;
    const budgets = await Promise.all(
      accounts.budgets({ kind: "key", id }, limits, clock.now()).map(async (budget) => {
        const known = charged.get(budget.name);
        const spent =
          known ?? (isRefused ? (await purse(accountId, budget.name)).spentMicroVnd : 0);
        return { ...budget, spent, percent: (100 * spent) / Math.max(1, budget.limitMicroVnd) };
      }),
    );
    const most = Math.max(...budgets.map(({ percent }) => percent));
    for (const { name, period, limitMicroVnd, spent, percent } of budgets) {
      const isUp = percent >= 100 || (isRefused && percent === most);
      if (!isUp && percent < NEAR) continue;
      const { name: keyName, prefix } = key;
      const texts = budgetTexts(
        { keyName, prefix, period, limitMicroVnd, chargedMicroVnd: spent, isUp },
        this.url,
      );
      const cause = `budget ${isUp ? 100 : NEAR} ${name} ${limitMicroVnd}`;
      await this.outbox.post({ accountId, cause, kind: "budget", texts });
    }
  }

  private get url(): string {
    return this.services.customers.current.publicUrl ?? "";
  }

  private at(inMs: number): Date {
    return new Date(this.services.clock.now() + inMs);
  }
}
