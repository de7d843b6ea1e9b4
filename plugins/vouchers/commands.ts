import type { Command } from "../../core/plugin/index.ts";

const batch: NonNullable<Command["options"]>[number] = {
  name: "voucher",
  value: "ID",
  about: "the id of a batch, from voucher list",
  required: true,
};

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  {
    words: "voucher create",
    about:
      "make a batch of codes that customers redeem; shown only once: --csv prints them for a file",
    method: "POST",
    path: "/admin/v1/vouchers",
    options: [
      {
        name: "amount-vnd",
        value: "N",
        about: "of one redemption",
        example: "50000",
        required: true,
      },
      { name: "until", value: "YYYY-MM-DD", about: "the last day, in Vietnam", required: true },
      { name: "note", value: "TEXT", about: "for what, as voucher list shows it", required: true },
      { name: "count", value: "N", about: "how many codes; default 1", type: "number" },
      { name: "uses", value: "N", about: "customers for each code; default 1", type: "number" },
      { name: "once-per-customer", about: "a customer gets one code of the batch", type: "flag" },
      { name: "from", value: "YYYY-MM-DD", about: "the first day; default: now" },
    ],
    confirms: true,
  },
  {
    words: "voucher list",
    about: "list batches of vouchers, newest first, without their codes",
    method: "GET",
    path: "/admin/v1/vouchers",
    options: [{ name: "limit", value: "N" }],
    pages: { query: "before", field: "id" },
  },
  {
    words: "voucher show",
    about: "show a batch and who redeemed its codes, newest first",
    method: "GET",
    path: "/admin/v1/vouchers/:voucher",
    options: [batch, { name: "limit", value: "N" }, { name: "before", value: "SEQUENCE" }],
  },
  {
    words: "voucher open",
    about: "open a batch that waits for a second person, or ask for one again",
    method: "POST",
    path: "/admin/v1/vouchers/:voucher/open",
    options: [batch],
  },
  {
    words: "voucher cancel",
    about: "end a batch now; what was redeemed stays",
    method: "POST",
    path: "/admin/v1/vouchers/:voucher/cancel",
    options: [batch],
  },
];
