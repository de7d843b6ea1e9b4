import { mapping, v, whole } from "../../core/plugin/index.ts";

export const options = v.optional(
  mapping({
    /** Attempts to redeem a code. More get 429. */
    account_attempts_per_minute: v.optional(whole(1, 10_000), 10),
    /** Many customers may share an address. */
    address_attempts_per_minute: v.optional(whole(1, 10_000), 60),
  }),
  {},
);

export type Settings = v.InferOutput<typeof options>;
