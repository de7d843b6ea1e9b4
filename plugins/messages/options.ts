import { mapping, matching, text, v, whole } from "../../core/plugin/index.ts";

const FROM = 'a sender such as "Tollgate <no-reply@example.com>"';

const smtp = mapping({
  host: text("the name of a mail server"),
  port: v.optional(whole(1, 65_535), 587),
  /** True: TLS from the first byte, as on port 465. False: STARTTLS, which only a server on this machine need not offer. */
  secure: v.optional(v.boolean("true or false"), false),
  user: v.optional(text()),
  password: v.optional(text()),
  from: matching(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, FROM),
});

export const options = v.strictObject({
  /** The mail server. Without it, the links of mails are printed to stdout, and no other mails are sent. */
  smtp: v.optional(smtp),
  /** Customers get a mail when their balance falls below it, in đ, unless they set an amount of their own; 0: none. */
  low_balance_vnd: v.optional(whole(0, 1_000_000_000), 20_000),
});

export type Options = v.InferOutput<typeof options>;
export type SmtpOptions = NonNullable<Options["smtp"]>;
