import {
  confirmation,
  day,
  dayOf,
  done,
  endOfDay,
  formatVnd,
  isId,
  isRefusal,
  line,
  MICRO_VND_PER_VND,
  mapping,
  matching,
  newId,
  type OperatorRoute,
  type Refusal,
  reading,
  refuse,
  rowLimit,
  type Services,
  startOfDay,
  v,
  whole,
} from "../../core/plugin/index.ts";
import {
  type Batch,
  batchesIn,
  batchOf,
  cancelBatch,
  createBatch,
  openBatch,
  redemptionsOf,
} from "./batches.ts";
import { newVoucherCode } from "./code.ts";

const CODES_MAX = 10_000;
const USES_MAX = 1_000_000;
/** Maximum amount of one code, in đ. */
const AMOUNT_MAX_VND = 100_000_000;
const BEFORE = "the id of the last batch of the previous page";

const wantedDay = day(/^20\d\d-\d\d-\d\d$/);
const limit = rowLimit();

const newBatch = mapping({
  amount_vnd: v.pipe(
    matching(/^\d{1,9}$/, `whole đ from 1 to ${AMOUNT_MAX_VND}`),
    v.transform(Number),
    whole(1, AMOUNT_MAX_VND, `whole đ from 1 to ${AMOUNT_MAX_VND}`),
  ),
  count: v.optional(whole(1, CODES_MAX), 1),
  uses: v.optional(whole(1, USES_MAX), 1),
  once_per_customer: v.optional(v.boolean("true or false"), false),
  from: v.optional(wantedDay),
  until: wantedDay,
  note: line(200, "a note of 1 to 200 characters on one line"),
  confirm_above_vnd: confirmation.bound,
});

const page = mapping({
  limit,
  before: v.optional(v.pipe(v.string(BEFORE), v.check(isId, BEFORE))),
});
const redemptionPage = mapping({
  limit,
  before: v.optional(
    v.pipe(
      matching(/^\d{1,18}$/, "the `sequence` of the last redemption of the previous page"),
      v.transform((digits) => BigInt(digits)),
    ),
  ),
});

/** Routes for operators: make a batch of codes, list batches, show who redeemed, cancel. */
export function operatorRoutes(services: Services): OperatorRoute[] {
  const { accounts, clock, database, operators } = services;
  const find = async (id = "") => (isId(id) ? batchOf(database, id) : undefined);
  const subject: OperatorRoute["subject"] = async ({ voucher }) => {
    const batch = await find(voucher);
    return batch && { note: batch.note };
  };
  return [
    {
      method: "POST",
      path: "/vouchers",
      handle: reading(newBatch, async (wanted, request, operator) => {
        const { amount_vnd, count, uses, from, until, note, confirm_above_vnd } = wanted;
        const now = clock.now();
        const startsAt = from === undefined ? new Date(now) : startOfDay(from);
        const endsAt = endOfDay(until);
        if (endsAt.getTime() <= Math.max(now, startsAt.getTime())) {
          return refuse.badRequest(
            "until: expected today or a later day, not before from.",
            "until",
          );
        }
        const amountMicroVnd = BigInt(amount_vnd) * BigInt(MICRO_VND_PER_VND);
        const allMicroVnd = worthOf({ amountMicroVnd, codes: count, uses });
        if (confirm_above_vnd !== undefined && allMicroVnd > confirm_above_vnd) {
          const [each, all] = [amountMicroVnd, allMicroVnd].map(confirmation.amount);
          return confirmation.question(`Make ${count} codes of ${each} đ, ${all} đ in all?`);
        }
        const batch = {
          ...{ id: newId(now), amountMicroVnd, codes: count, uses, note, startsAt, endsAt },
          ...{ oncePerCustomer: wanted.once_per_customer, createdAt: new Date(now) },
        };
        const codes = Array.from({ length: count }, newVoucherCode);
        await createBatch(database, batch, codes);
        const waiting = { ...batch, openedAt: null, cancelledAt: null, redeemed: 0 };
        // Only this reply has the codes, so it has them before a second person decides.
        const opened = await open(
          waiting,
          { ...request, path: `${request.path}/${batch.id}/open` },
          operator,
        );
        const waits = isRefusal(opened);
        const shown = batchJson(waits ? waiting : opened);
        const rows = codes.map(({ code }) => ({
          ...{ code, amount_vnd: String(amount_vnd), ends_at: endsAt.toISOString() },
          state: shown.state,
        }));
        const notice = waits ? `The codes are not valid yet. ${opened.message}` : undefined;
        return done({ ...shown, notice, list: rows }, waits ? 202 : 201);
      }),
    },
    {
      method: "GET",
      path: "/vouchers",
      handle: reading(page, async (wanted) => {
        return done((await batchesIn(database, wanted.limit, wanted.before)).map(batchJson));
      }),
    },
    {
      method: "GET",
      path: "/vouchers/:voucher",
      right: "customers",
      handle: reading(redemptionPage, async (wanted, { params }) => {
        const batch = await find(params["voucher"]);
        if (!batch) return unknown();
        const found = await redemptionsOf(database, batch.id, wanted.limit, wanted.before);
        const ids = [...new Set(found.map(({ accountId }) => accountId))];
        const emails = await accounts.emails(ids);
        const redemptions = found.map(
          ({ sequence, accountId, redeemedAt, creditedAt, ...row }) => ({
            ...{
              sequence: Number(sequence),
              account: accountId,
              email: emails.get(accountId) ?? null,
            },
            ...row,
            redeemed_at: redeemedAt.toISOString(),
            credited_at: creditedAt?.toISOString() ?? null,
          }),
        );
        return done({ ...batchJson(batch), redemptions });
      }),
    },
    {
      method: "POST",
      path: "/vouchers/:voucher/open",
      right: "money",
      subject,
      async handle(request, operator) {
        const batch = await find(request.params["voucher"]);
        if (!batch) return unknown();
        const opened = await open(batch, request, operator);
        return isRefusal(opened) ? opened : done(batchJson(opened));
      },
    },
    {
      method: "POST",
      path: "/vouchers/:voucher/cancel",
      right: "money",
      subject,
      async handle({ params, path }) {
        const before = await find(params["voucher"]);
        if (!before) return unknown();
        await cancelBatch(database, before.id, new Date(clock.now()));
        await operators.current.withdraw(
          path.replace(/\/cancel$/, "/open"),
          "The batch is cancelled.",
        );
        const batch = await find(before.id);
        return batch ? done(batchJson(batch)) : unknown();
      },
    },
  ];

  /** Opens a batch; if its codes are worth much, asks for a second person, and returns that it waits. */
  async function open(
    batch: Batch,
    ...[{ method, path }, operator]: Parameters<OperatorRoute["handle"]>
  ): Promise<Batch | Refusal> {
    if (batch.openedAt !== null) return batch;
    if (batch.cancelledAt !== null) {
      return refuse.conflict("The batch is cancelled; make another one.", {
        code: "voucher_cancelled",
      });
    }
    const waits = await operators.current.approval({
      ...{ operator, accountId: null, amountMicroVnd: worthOf(batch) },
      request: { method, path, body: Buffer.from(JSON.stringify({ reason: batch.note })) },
    });
    if (waits) return waits;
    const openedAt = new Date(clock.now());
    await openBatch(database, batch.id, openedAt);
    return { ...batch, openedAt };
  }

  function batchJson({ amountMicroVnd, startsAt, endsAt, createdAt, ...batch }: Batch) {
    const { openedAt, cancelledAt, oncePerCustomer, ...rest } = batch;
    const now = clock.now();
    const isOpen = now < endsAt.getTime() ? "open" : "ended";
    const ofDay = now < startsAt.getTime() ? "planned" : isOpen;
    const state = openedAt === null && ofDay !== "ended" ? "waiting" : ofDay;
    return {
      ...rest,
      state: cancelledAt === null ? state : "cancelled",
      amount_vnd: formatVnd(amountMicroVnd),
      credited_vnd: formatVnd(amountMicroVnd * BigInt(batch.redeemed)),
      once_per_customer: oncePerCustomer,
      first_day: dayOf(startsAt),
      last_day: dayOf(new Date(endsAt.getTime() - 1)),
      created_at: createdAt.toISOString(),
      opened_at: openedAt?.toISOString() ?? null,
      cancelled_at: cancelledAt?.toISOString() ?? null,
    };
  }
}

/** Returns what all uses of all codes are worth, in µđ. */
function worthOf({
  amountMicroVnd,
  codes,
  uses,
}: Pick<Batch, "amountMicroVnd" | "codes" | "uses">): bigint {
  return amountMicroVnd * BigInt(codes) * BigInt(uses);
}

function unknown(): Refusal {
  return refuse.notFound("There is no such batch. `voucher list` lists them.", "voucher");
}
