import { mapping, v, whole } from "../../core/plugin/index.ts";

/** The maximum that a wallet can have, in đ: no movement exceeds it. */
const ALL_VND = 9_007_199_254;
const bound = (vnd: number) => v.optional(whole(0, ALL_VND), vnd);

export const options = v.pipe(
  mapping({
    /** A movement of more đ than this needs a second person, by the role of the one who asks. */
    second_person_above_vnd: v.optional(
      mapping({
        support: bound(500_000),
        finance: bound(5_000_000),
        owner: bound(5_000_000),
        /** The shared token, which commands use. */
        admin_token: bound(5_000_000),
      }),
      {},
    ),
    /** The address of the console, for links. Default: the address of the admin API. */
    console_url: v.optional(
      v.pipe(v.string("an address"), v.url("an address such as https://ops.example.com")),
    ),
  }),
);

export type Options = v.InferOutput<typeof options>;
