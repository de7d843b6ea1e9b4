import {
  confirmation,
  correctionJson,
  done,
  formatVnd,
  isId,
  isRefusal,
  line,
  mapping,
  matching,
  type OperatorRoute,
  oneOf,
  type Refusal,
  reading,
  refuse,
  rowLimit,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import type { Crediting } from "./crediting.ts";
import type { Settings } from "./options.ts";
import { type Order, orderByCode, ordersOf, statusOf } from "./orders.ts";
import { suggestionsFor } from "./suggestions.ts";
import {
  assignTransfer,
  decideTransfer,
  isAssignable,
  payloadOf,
  releaseTransfer,
  TRANSFER_STATES,
  type Transfer,
  transferOf,
  transfersIn,
} from "./transfers.ts";

const REASON = line(500, "a reason of 1 to 500 characters on one line");

const limit = rowLimit();

const orderPage = mapping({
  limit,
  before: v.optional(v.pipe(v.string(), v.check(isId, "the id of the last order of the page"))),
});

const page = mapping({
  state: v.optional(oneOf(TRANSFER_STATES)),
  account: v.optional(v.pipe(v.string(), v.check(isId, "the id of an account"))),
  query: v.optional(line(200, "a text of 1 to 200 characters on one line")),
  limit,
  before: v.optional(
    v.pipe(
      matching(/^\d{1,18}$/, "the `sequence` of the last transfer of the previous page"),
      v.transform((digits) => BigInt(digits)),
    ),
  ),
});

const assignment = mapping({
  account: v.optional(v.pipe(v.string(), v.check(isId, "the id of an account"))),
  order: v.optional(line(40, "the code of an order")),
  reason: REASON,
  confirm_above_vnd: confirmation.bound,
});

const decision = mapping({ reason: REASON });

const reversal = mapping({
  reason: REASON,
  as_much_as_there_is: v.optional(v.boolean("true or false"), false),
  confirm_above_vnd: confirmation.bound,
});

/** Routes for operators: show an order by its code and those of an account, list and show transfers, assign, reverse, ignore or return one. */
export function transferRoutes(
  services: Services,
  {
    order_prefix: prefix,
    content_prefix: contentPrefix,
  }: Pick<Settings, "order_prefix" | "content_prefix">,
  crediting: Crediting,
): OperatorRoute[] {
  const { accounts, clock, corrections, database } = services;
  const subject: OperatorRoute["subject"] = async ({ transfer = "" }, { account, order }) => {
    if (account !== undefined) return undefined;
    const found =
      typeof order === "string"
        ? await orderByCode(database, order.toUpperCase())
        : await transferOf(database, transfer);
    return { account_id: found?.accountId };
  };

  return [
    {
      method: "GET",
      path: "/orders/:code",
      async handle({ params }) {
        const order = await orderByCode(database, (params["code"] ?? "").toUpperCase());
        if (!order) return refuse.notFound("There is no order with this code.", "code");
        return done(shownOrder(order));
      },
    },
    {
      method: "GET",
      path: "/accounts/:account/orders",
      handle: reading(orderPage, async (wanted, { params }) => {
        const account = await accounts.find(params["account"] ?? "");
        if (!account) return noAccount();
        const { limit, before } = wanted;
        return done((await ordersOf(database, account.id, limit, before)).map(shownOrder));
      }),
    },
    {
      method: "GET",
      path: "/transfers",
      handle: reading(page, async ({ limit, before, ...filter }) => {
        return done((await transfersIn(database, filter, limit, before)).map(shown));
      }),
    },
    {
      method: "GET",
      path: "/transfers/:transfer",
      async handle({ params }) {
        const transfer = await transferOf(database, params["transfer"] ?? "");
        if (!transfer) return unknown();
        const payload = await payloadOf(database, transfer.id);
        return done({ ...shown(transfer), payload: payload?.toString("utf8") ?? null });
      },
    },
    {
      method: "GET",
      path: "/transfers/:transfer/suggestions",
      async handle({ params }) {
        const transfer = await transferOf(database, params["transfer"] ?? "");
        if (!transfer) return unknown();
        const found = await suggestionsFor(database, transfer, prefix, contentPrefix);
        const emails = await accounts.emails(found.map(({ accountId }) => accountId));
        return done(
          found.map(({ accountId, order, why }) => ({
            why,
            account: accountId,
            email: emails.get(accountId) ?? null,
            order: order?.code ?? null,
            amount_vnd: order ? formatVnd(order.amountMicroVnd) : null,
            status: order ? statusOf(order, clock.now()) : null,
            created_at: order?.createdAt.toISOString() ?? null,
          })),
        );
      },
    },
    {
      method: "POST",
      path: "/transfers/:transfer/assign",
      right: "money",
      subject,
      handle: reading(assignment, async (wanted, request, operator) => {
        const { params } = request;
        const owner = await ownerOf(wanted.account, wanted.order);
        if (isRefusal(owner)) return owner;
        const id = params["transfer"] ?? "";
        const before = await transferOf(database, id);
        if (before && isAssignable(before) && before.amountMicroVnd !== null) {
          const { accountId } = owner;
          const { amountMicroVnd } = before;
          const movement = { operator, request, accountId, amountMicroVnd };
          const asked = await confirmation.needed(services, movement, wanted.confirm_above_vnd);
          if (asked) return asked;
        }
        const assigned = await assignTransfer(database, id, owner, wanted.reason);
        if (assigned) await crediting.creditSoon(assigned);
        const now = await transferOf(database, id);
        if (!now) return unknown();
        // Idempotent: an operator who repeats the request gets the result of the first one.
        const isDone = now.accountId === owner.accountId && now.orderId === owner.orderId;
        if (isDone && (now.state === "matched" || now.state === "credited"))
          return done(shown(now));
        return refusal(now);
      }),
    },
    {
      method: "POST",
      path: "/transfers/:transfer/reverse",
      right: "money",
      subject,
      handle: reading(reversal, async (wanted, sent, operator) => {
        const { params } = sent;
        const transfer = await transferOf(database, params["transfer"] ?? "");
        if (!transfer) return unknown();
        // An operator who repeats the request gets the result of the first one.
        if (transfer.state === "unmatched" && transfer.cause === "taken_back") {
          return done(shown(transfer));
        }
        if (transfer.state !== "credited") {
          return refuse.conflict(
            `The transfer is ${transfer.state}; only a credited one can be reversed.`,
            {
              code: "transfer_not_credited",
              param: "transfer",
            },
          );
        }
        const { reason, as_much_as_there_is: asMuchAsThereIs } = wanted;
        const confirm = (accountId: string, amountMicroVnd: bigint) => {
          const movement = { operator, request: sent, accountId, amountMicroVnd };
          return confirmation.needed(services, movement, wanted.confirm_above_vnd);
        };
        const request = { topUp: transfer.reference, totalMicroVnd: undefined, reason, confirm };
        const taken = await corrections.current.takeBack({ ...request, asMuchAsThereIs });
        if (taken.kind === "short" && taken.availableMicroVnd === 0n) {
          return refuse.conflict(
            "The customer has spent all of it, or calls that run hold it. Nothing has changed; --as-much-as-there-is takes " +
              "nothing, and the transfer can be assigned again.",
            { code: "below_zero", param: "transfer" },
          );
        }
        const correction = correctionJson(taken, "transfer");
        if (isRefusal(correction)) return correction;
        await releaseTransfer(database, transfer, reason);
        const now = await transferOf(database, transfer.id);
        if (now?.state === "credited" && now.reference === transfer.reference) {
          return refuse.conflict(
            "Calls that run hold all that the wallet has. Nothing has changed; try again once they have ended.",
            { code: "held_by_calls", param: "transfer" },
          );
        }
        return done({ ...shown(now ?? transfer), taken_back: correction });
      }),
    },
    decisionRoute("/transfers/:transfer/ignore", "ignored"),
    // Moves no money: an operator has sent it back at the bank.
    decisionRoute("/transfers/:transfer/return", "returned"),
  ];

  function decisionRoute(path: string, state: "ignored" | "returned"): OperatorRoute {
    return {
      method: "POST",
      path,
      right: "money",
      handle: reading(decision, async (wanted, { params }) => {
        const id = params["transfer"] ?? "";
        await decideTransfer(database, id, state, wanted.reason);
        const now = await transferOf(database, id);
        if (!now) return unknown();
        return now.state === state ? done(shown(now)) : refusal(now);
      }),
    };
  }

  async function ownerOf(account: string | undefined, order: string | undefined) {
    if ((account === undefined) === (order === undefined)) {
      return refuse.badRequest("Send either account or order.", "account");
    }
    if (order !== undefined) {
      const found = await orderByCode(database, order.toUpperCase());
      if (!found) return refuse.notFound("There is no order with this code.", "order");
      return { accountId: found.accountId, orderId: found.id };
    }
    const found = await accounts.find(account ?? "");
    return found ? { accountId: found.id, orderId: null } : noAccount();
  }

  function shownOrder(order: Order) {
    return {
      id: order.id,
      code: order.code,
      account: order.accountId,
      status: statusOf(order, clock.now()),
      amount_vnd: formatVnd(order.amountMicroVnd),
      received_vnd: formatVnd(order.receivedMicroVnd),
      created_at: order.createdAt.toISOString(),
      expires_at: order.expiresAt.toISOString(),
    };
  }
}

function noAccount(): Refusal {
  return refuse.notFound("There is no such account. `account list` lists all accounts.", "account");
}

function refusal(transfer: Transfer): Refusal {
  if (transfer.state === "unmatched" && (!transfer.incoming || transfer.amountMicroVnd === null)) {
    return refuse.conflict(
      "The bank's notification has no incoming amount; use `credit` for the account, then ignore the transfer.",
      { code: "transfer_not_creditable", param: "transfer" },
    );
  }
  if (transfer.state === "unmatched") {
    return refuse.conflict(
      `The wallet refused the credit (${transfer.cause}); the transfer stays unmatched.`,
      { code: "credit_refused", param: "transfer" },
    );
  }
  return refuse.conflict(
    `The transfer is ${transfer.state}; only unmatched transfers can be assigned, ignored or returned.`,
    { code: "transfer_not_unmatched", param: "transfer" },
  );
}

function shown(transfer: Transfer) {
  return {
    id: transfer.id,
    sequence: Number(transfer.sequence),
    reference: transfer.reference,
    state: transfer.state,
    cause: transfer.cause,
    direction: transfer.cause === "unreadable" ? null : transfer.incoming ? "in" : "out",
    amount_vnd: transfer.amountMicroVnd === null ? null : formatVnd(transfer.amountMicroVnd),
    account: transfer.accountId,
    order: transfer.orderCode,
    bank: transfer.bank,
    account_number: transfer.accountNumber,
    content: transfer.content,
    bank_reference: transfer.bankReference,
    bank_time: transfer.bankTime,
    source: transfer.source,
    alike: transfer.alike,
    received_at: transfer.receivedAt.toISOString(),
    credited_at: transfer.creditedAt?.toISOString() ?? null,
    decided_at: transfer.decidedAt?.toISOString() ?? null,
    decision: transfer.decision,
  };
}

function unknown(): Refusal {
  return refuse.notFound("There is no such transfer. `transfer list` lists them.", "transfer");
}
