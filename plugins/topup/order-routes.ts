import {
  type CustomerRoute,
  done,
  formatVnd,
  isId,
  MICRO_VND_PER_VND,
  mapping,
  newId,
  type Refusal,
  reading,
  refuse,
  rowLimit,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { qrSvg } from "../page-parts/qr.ts";
import { bonusJson, expectedBonus, openBonuses } from "./bonuses.ts";
import type { Settings } from "./options.ts";
import { cancelOrder, createOrder, type Order, orderOf, ordersOf, statusOf } from "./orders.ts";
import { paymentsOf } from "./transfers.ts";
import { qrText } from "./vietqr.ts";

const MINUTE_MS = 60_000;
const PAGE_MAX = 100;

const page = mapping({
  limit: rowLimit(20, PAGE_MAX),
  before: v.optional(v.pipe(v.string(), v.check(isId, "the `next` of the previous page"))),
});

/** Routes for the customer's top-up orders: create, list, show with a QR code, cancel. */
export function orderRoutes(services: Services, settings: Settings): CustomerRoute[] {
  const { clock, database } = services;
  const newOrder = mapping({
    amount_vnd: whole(
      settings.minimum_vnd,
      settings.maximum_vnd,
      `a whole number of đ from ${settings.minimum_vnd} to ${settings.maximum_vnd}`,
    ),
  });

  return [
    {
      method: "GET",
      path: "/top-ups/settings",
      handle: async (_request, { accountId }) =>
        done({
          minimum_vnd: String(settings.minimum_vnd),
          maximum_vnd: String(settings.maximum_vnd),
          order_prefix: settings.order_prefix,
          bank: settings.bank,
          order_valid_minutes: settings.order_valid_minutes,
          promotions: {
            lifetime: shownPromotion(settings.promotions.lifetime),
            daily: shownPromotion(settings.promotions.daily),
            bonuses: (await open(accountId)).map(bonusJson),
          },
        }),
    },
    {
      method: "POST",
      path: "/top-ups",
      handle: reading(newOrder, async (wanted, _, { accountId }) => {
        const now = clock.now();
        const result = await createOrder(
          database,
          {
            id: newId(now),
            accountId,
            amountMicroVnd: BigInt(wanted.amount_vnd * MICRO_VND_PER_VND),
            createdAt: new Date(now),
            expiresAt: new Date(now + settings.order_valid_minutes * MINUTE_MS),
          },
          settings.order_prefix,
          settings.open_orders_max,
        );
        switch (result.kind) {
          case "created":
            return done(await withDetails(result.order), 201);
          case "no_account":
            return refuse.notFound("This account does not exist.");
          case "too_many_open":
            return refuse.conflict(
              `You have ${settings.open_orders_max} open top-ups, the maximum; pay or cancel one first.`,
              { code: "too_many_open_orders" },
            );
          case "too_many_today":
            return refuse.rateLimited(
              "You have created too many top-ups in the last 24 hours; try again later.",
              {
                code: "too_many_orders",
                headers: ["retry-after", "3600"],
              },
            );
        }
      }),
    },
    {
      method: "GET",
      path: "/top-ups",
      handle: reading(page, async ({ limit, before }, _, { accountId }) => {
        // One more says if there is another page.
        const found = await ordersOf(database, accountId, limit + 1, before);
        const orders = found.slice(0, limit);
        const next = found.length > limit ? (orders.at(-1)?.id ?? null) : null;
        return done({ data: orders.map(shown), next });
      }),
    },
    {
      method: "GET",
      path: "/top-ups/:id",
      async handle({ params }, { accountId }) {
        const order = await find(accountId, params["id"]);
        return order ? done(await withDetails(order)) : unknown();
      },
    },
    {
      method: "POST",
      path: "/top-ups/:id/cancel",
      async handle({ params }, { accountId }) {
        const before = await find(accountId, params["id"]);
        if (!before) return unknown();
        await cancelOrder(database, accountId, before.id, new Date(clock.now()));
        const order = await find(accountId, before.id);
        if (order && statusOf(order, clock.now()) === "cancelled")
          return done(await withDetails(order));
        return refuse.conflict("This top-up is not open, so it cannot be cancelled.", {
          code: "order_not_open",
        });
      },
    },
  ];

  async function find(accountId: string, id = ""): Promise<Order | undefined> {
    return isId(id) ? orderOf(database, accountId, id) : undefined;
  }

  function open(accountId: string) {
    return openBonuses(database, settings.promotions.bonuses, accountId, clock.now());
  }

  /** Returns the text that the transfer must have. */
  function contentOf({ code }: Order): string {
    return [settings.content_prefix ?? [], code].flat().join(" ");
  }

  function shown(order: Order) {
    return {
      id: order.id,
      code: order.code,
      status: statusOf(order, clock.now()),
      amount_vnd: formatVnd(order.amountMicroVnd),
      received_vnd: formatVnd(order.receivedMicroVnd),
      bonus_vnd: formatVnd(order.bonusMicroVnd),
      missing_vnd: formatVnd(missingMicroVnd(order)),
      content: contentOf(order),
      bank: settings.bank,
      created_at: order.createdAt.toISOString(),
      expires_at: order.expiresAt.toISOString(),
      cancelled_at: order.cancelledAt?.toISOString() ?? null,
      paid_at: order.paidAt?.toISOString() ?? null,
    };
  }

  /** Adds its payments, and a QR code for what is missing, or for all of an order that is paid. */
  async function withDetails(order: Order) {
    const payments = await paymentsOf(database, order.id);
    const missing = missingMicroVnd(order);
    const bonuses = missing > 0n ? await open(order.accountId) : [];
    const due = missing > 0n ? missing : order.amountMicroVnd;
    const text = await qrText({
      bin: settings.bank.bin,
      accountNumber: settings.bank.account_number,
      // A QR code has whole đ.
      amountVnd: Math.ceil(Number(due) / MICRO_VND_PER_VND),
      purpose: contentOf(order),
    });
    return {
      ...shown(order),
      // The bonus of a transfer of the missing amount today.
      expected_bonus_vnd: formatVnd(expectedBonus(bonuses, missing)),
      payments: payments.map(({ amountMicroVnd, bonusMicroVnd, creditedAt }) => ({
        amount_vnd: formatVnd(amountMicroVnd),
        bonus_vnd: formatVnd(bonusMicroVnd),
        at: creditedAt.toISOString(),
      })),
      qr_text: text,
      qr_svg: await qrSvg(text),
    };
  }
}

function missingMicroVnd({ amountMicroVnd, receivedMicroVnd }: Order): bigint {
  return receivedMicroVnd < amountMicroVnd ? amountMicroVnd - receivedMicroVnd : 0n;
}

function shownPromotion(promotion: Settings["promotions"]["daily"]) {
  return { ...promotion, threshold_vnd: String(promotion.threshold_vnd) };
}

/** Returns the same refusal for unknown orders and for orders of other accounts. */
function unknown(): Refusal {
  return refuse.notFound("You have no such top-up.");
}
