import {
  confirmation,
  correctionJson,
  dayOf,
  done,
  endOfDay,
  formatVnd,
  isId,
  isRefusal,
  type OperatorRoute,
  type PlainResponse,
  type Refusal,
  reading,
  refuse,
  type Services,
  startOfDay,
  statementJson,
  walletJson,
} from "../../core/plugin/index.ts";
import { overdueCalls } from "./holds.ts";
import { adjustment, ledgerQuery, movement, proofQuery, reconcileQuery, refund } from "./input.ts";
import { unknownAccount } from "./unknown.ts";

type Rows = ReturnType<Services["operations"]["current"]["reconcile"]>;
type ReconcileRow = Rows extends AsyncIterable<infer Row> ? Row : never;

/** Maximum rows with a drift in one reply. */
const ROWS_MAX = 1000;

/** Routes for credits, adjustments, wallets and reconciliation. Amounts are decimal strings in đ. */
export function moneyRoutes(services: Services): OperatorRoute[] {
  const { accounts, balances, clock, corrections, operations, usage, wallets } = services;
  return [
    {
      method: "POST",
      path: "/accounts/:account/credits",
      right: "money",
      handle: reading(movement, async (wanted, request, operator) => {
        const { params } = request;
        const accountId = params["account"] ?? "";
        if (!isId(accountId)) return unknownAccount(accountId);
        const { amount_vnd: amountMicroVnd, reference, reason = null } = wanted;
        if (amountMicroVnd < 0n && reason === null) {
          return refuse.badRequest("reason: a negative amount needs a reason.", "reason");
        }
        const moved = { operator, request, accountId, amountMicroVnd };
        const asked = await confirmation.needed(services, moved, wanted.confirm_above_vnd);
        if (asked) return asked;
        const kind = amountMicroVnd < 0n ? "adjustment" : "topup";
        const credit = { accountId, amountMicroVnd, reference, kind, reason } as const;
        return answerOf(await wallets.current.credit(credit), accountId, balances);
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/adjustments",
      right: "money",
      handle: reading(adjustment, async (wanted, request, operator) => {
        const { params } = request;
        const accountId = params["account"] ?? "";
        if (!isId(accountId)) return unknownAccount(accountId);
        const { amount_vnd: amountMicroVnd, reference, reason } = wanted;
        const moved = { operator, request, accountId, amountMicroVnd };
        const asked = await confirmation.needed(services, moved, wanted.confirm_above_vnd);
        if (asked) return asked;
        const kind = "adjustment";
        const credit = { accountId, amountMicroVnd, reference, kind, reason } as const;
        return answerOf(await wallets.current.credit(credit), accountId, balances);
      }),
    },
    {
      method: "POST",
      path: "/refunds",
      right: "refund",
      async subject(_, { call, top_up: topUp }) {
        const found = await corrections.current.cause(
          typeof topUp === "string" ? { topUp } : { callId: String(call) },
        );
        return { account_id: found?.accountId };
      },
      handle: reading(refund, async (wanted, sent, operator) => {
        const { call, top_up: topUp, amount_vnd: totalMicroVnd, reason } = wanted;
        if ((call === undefined) === (topUp === undefined)) {
          return refuse.badRequest("Send either call or top_up.", "call");
        }
        const confirm = (accountId: string, amountMicroVnd: bigint) => {
          const moved = { operator, request: sent, accountId, amountMicroVnd };
          return confirmation.needed(services, moved, wanted.confirm_above_vnd);
        };
        const request = { totalMicroVnd, reason, confirm };
        const asMuchAsThereIs = wanted.as_much_as_there_is;
        const shown = correctionJson(
          topUp === undefined
            ? await corrections.current.refund({ callId: call ?? "", ...request })
            : await corrections.current.takeBack({ topUp, asMuchAsThereIs, ...request }),
          topUp === undefined ? "call" : "top_up",
        );
        return isRefusal(shown) ? shown : done(shown);
      }),
    },
    {
      method: "GET",
      path: "/accounts/:account/ledger",
      handle: reading(ledgerQuery, async (wanted, { params }) => {
        const account = params["account"] ?? "";
        if (!isId(account) || !(await accounts.find(account))) return unknownAccount(account);
        const to = endOfDay(wanted.to ?? dayOf(new Date(clock.now())));
        const found = await usage.statement(account, startOfDay(wanted.from), to);
        return done(statementJson(found, true));
      }),
    },
    {
      method: "GET",
      path: "/accounts/:account/wallet",
      async handle({ params }) {
        const account = params["account"] ?? "";
        const wallet = isId(account) ? await balances(account) : undefined;
        if (wallet === undefined) return unknownAccount(account);
        return done(walletJson(wallet));
      },
    },
    {
      method: "GET",
      path: "/reconcile",
      handle: reading(reconcileQuery, async ({ older_than_seconds: seconds }) => {
        const counts = { wallets: 0, drifting_wallets: 0, purses: 0, drifting_purses: 0 };
        const rows: object[] = [];
        for await (const row of operations.current.reconcile()) {
          const what = row.purse === null ? "wallets" : "purses";
          counts[what]++;
          if (row.driftMicroVnd === 0n) continue;
          counts[`drifting_${what}`]++;
          if (rows.length < ROWS_MAX) rows.push(rowOf(row));
        }
        const overdue = await overdueCalls(services, seconds && seconds * 1_000);
        return done({ drift: rows.length > 0, ...counts, rows, ...overdue });
      }),
    },
    {
      // A GET, because it moves no money: it only stores for `reconcile` which rows it has added up.
      method: "GET",
      path: "/reconcile/proof",
      handle: reading(proofQuery, async (wanted) => {
        const progress = await operations.current.prove({ isRestart: wanted.restart === "true" });
        const { provenThrough, last, heldUpBy, isDone } = progress;
        return done({
          proven_rows: String(provenThrough),
          rows: String(last),
          ...(heldUpBy !== undefined && { held_up_by: heldUpBy }),
          done: isDone,
        });
      }),
    },
  ];
}

async function answerOf(
  result: Awaited<ReturnType<Services["wallets"]["current"]["credit"]>>,
  accountId: string,
  balances: Services["balances"],
): Promise<PlainResponse | Refusal> {
  switch (result.kind) {
    case "credited":
      return done({
        balance_vnd: formatVnd(result.wallet.balanceMicroVnd),
        applied: result.applied,
      });
    case "no_account":
      return unknownAccount(accountId);
    case "reference_conflict":
      return refuse.conflict(
        "This reference was used for another account or amount. Nothing has changed; use a new reference.",
        { code: "reference_conflict", param: "reference" },
      );
    case "below_zero": {
      const { availableMicroVnd = 0, heldMicroVnd = 0 } = (await balances(accountId)) ?? {};
      const available = formatVnd(availableMicroVnd);
      const most =
        availableMicroVnd > 0
          ? `The wallet has only ${available} đ available. Nothing has changed; -${available} takes all of it.`
          : "The wallet has nothing available to take. Nothing has changed.";
      const held = formatVnd(heldMicroVnd);
      const more = heldMicroVnd > 0 ? ` Calls in flight hold ${held} đ more: see holds list.` : "";
      return refuse.conflict(most + more, { code: "below_zero", param: "amount_vnd" });
    }
    case "out_of_range":
      return refuse.badRequest(
        "amount_vnd: the balance would exceed 9007199254.740991 đ, the maximum; use a smaller amount.",
        "amount_vnd",
      );
  }
}

function rowOf(row: ReconcileRow): object {
  return {
    account_id: row.accountId,
    purse: row.purse,
    ledger_sum_vnd: formatVnd(row.ledgerSumMicroVnd),
    ...walletJson(row),
    drift_vnd: formatVnd(row.driftMicroVnd),
  };
}
