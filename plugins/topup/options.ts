import {
  day,
  line,
  mapping,
  matching,
  oneOf,
  text,
  url,
  v,
  whole,
} from "../../core/plugin/index.ts";

const BIN = 'the six digits of a bank in the VietQR network, such as "970436"';
const ACCOUNT_NUMBER = "an account number of 4 to 19 letters and digits, in quotes";
const PREFIX = "2 to 6 capital letters, without I, L and O, which look like digits";
const CONTENT_PREFIX = "2 to 10 capital letters and digits";
const SECRET = "a secret of 16 to 512 characters without spaces";
const SEPAY = "SePay's address, such as https://my.sepay.vn";
/** Maximum amount of one transfer. A wallet can have more: 2^53 − 1 µđ. */
const AMOUNT_MAX_VND = 1_000_000_000;
/** Maximum discount of one promotion: 50 %, so that both together are at most 100 %. */
const DISCOUNT_BPS_MAX = 5_000;

const secret = matching(/^[\x21-\x7e]{16,512}$/, SECRET);
const vnd = whole(1, AMOUNT_MAX_VND);

const promotion = (thresholdVnd: number, discountBps: number) =>
  v.optional(
    mapping({
      threshold_vnd: v.optional(vnd, thresholdVnd),
      /** 100 = 1%; 0 = off. */
      discount_bps: v.optional(whole(0, DISCOUNT_BPS_MAX), discountBps),
    }),
    {},
  );

const NAME = "1 to 40 lower-case letters, digits and hyphens";
const BONUSES_MAX = 20;
const bonusDay = day(/^20\d\d-\d\d-\d\d$/, "a day in Vietnam, such as 2026-12-31");

const bonus = v.pipe(
  mapping({
    name: v.pipe(
      matching(/^[a-z0-9-]{1,40}$/, NAME),
      v.description("Never use one again for another promotion: rows of the ledger have it."),
    ),
    title: v.pipe(line(100, "a title of 1 to 100 characters"), v.description("Customers see it.")),
    first_day: bonusDay,
    last_day: bonusDay,
    /** Of the amount of one transfer, rounded down to whole đ. */
    percent: whole(1, 100),
    minimum_vnd: v.optional(vnd, 1),
    bonus_max_vnd: v.optional(vnd),
    applies: v.optional(oneOf(["each_time", "once_per_customer", "first_top_up"]), "each_time"),
    adds_up: v.optional(
      v.pipe(
        v.boolean("true or false"),
        v.description("True: it is given beside others. Else only the best of those counts."),
      ),
      false,
    ),
  }),
  v.check(
    ({ first_day, last_day }) => first_day <= last_day,
    "a last_day that is not before first_day",
  ),
);

export const options = v.pipe(
  mapping({
    /** The bank account that customers transfer to. */
    bank: mapping({
      bin: matching(/^\d{6}$/, BIN),
      name: text("the bank's name"),
      account_number: matching(/^[0-9A-Za-z]{4,19}$/, ACCOUNT_NUMBER),
      account_name: text("the account holder's name"),
    }),
    main_account_number: v.optional(
      v.pipe(
        matching(/^[0-9A-Za-z]{4,19}$/, ACCOUNT_NUMBER),
        v.description(
          "If bank.account_number is virtual: the account behind it, which statements name.",
        ),
      ),
    ),
    order_prefix: v.optional(
      v.pipe(
        matching(/^[A-HJKMNP-Z]{2,6}$/, PREFIX),
        v.description(
          "Prefix of order codes. An operator must assign transfers for orders with an earlier prefix.",
        ),
      ),
      "TG",
    ),
    content_prefix: v.optional(
      v.pipe(
        // A QR code has at most 25 characters of text: these, a space and the code.
        matching(/^[A-Z0-9]{2,10}$/, CONTENT_PREFIX),
        v.description(
          "Word before the code in the text of a transfer, without which SePay does not see those of some banks.",
        ),
      ),
    ),
    minimum_vnd: v.optional(vnd, 50_000),
    /** Default: the maximum that banks allow for an instant transfer. */
    maximum_vnd: v.optional(vnd, 499_999_999),
    order_valid_minutes: v.optional(whole(5, 43_200), 1_440),
    open_orders_max: v.optional(whole(1, 100), 5),
    webhook: v.optional(
      mapping({
        hmac_secret: v.optional(secret),
        api_key: v.optional(secret),
        clock_tolerance_seconds: v.optional(whole(30, 3_600), 300),
      }),
      {},
    ),
    poll: v.optional(
      v.pipe(
        mapping({
          token: secret,
          interval_seconds: v.optional(whole(60, 3_600), 600),
          url: v.optional(url(["https?"], SEPAY), "https://my.sepay.vn"),
        }),
        v.description(
          "Reads SePay's list of transactions for what it did not notify. Default: it is not read.",
        ),
      ),
    ),
    promotions: v.optional(
      mapping({
        lifetime: promotion(10_000_000, 100),
        daily: promotion(100_000, 100),
        counted: v.optional(
          v.pipe(
            oneOf(["all", "transfers"]),
            v.description(
              "What counts as a top-up: `all` includes credits by operators, `transfers` only bank transfers.",
            ),
          ),
          "all",
        ),
        bonuses: v.optional(
          v.pipe(
            v.array(bonus, "a list of bonuses"),
            v.maxLength(BONUSES_MAX, `at most ${BONUSES_MAX} bonuses`),
            v.check(
              (all) => new Set(all.map(({ name }) => name)).size === all.length,
              "bonuses with different names",
            ),
            v.description("Money on top of bank transfers of the days from first_day to last_day."),
          ),
          [],
        ),
      }),
      {},
    ),
  }),
  v.check(
    ({ minimum_vnd, maximum_vnd }) => minimum_vnd <= maximum_vnd,
    "a minimum_vnd that is at most maximum_vnd",
  ),
);

export type Settings = v.InferOutput<typeof options>;

/** The discounts that the promotions grant, in basis points, with their conditions in their names. */
export function discounts(given: unknown): Readonly<Record<string, number>> {
  const { lifetime, daily } = (given as Settings).promotions;
  const named = ({ threshold_vnd, discount_bps }: typeof daily, name: string, when: string) =>
    discount_bps === 0 ? [] : [[`${name} discount from ${threshold_vnd} đ${when}`, discount_bps]];
  return Object.fromEntries([
    ...named(lifetime, "lifetime", ""),
    ...named(daily, "daily", " a day"),
  ]);
}
