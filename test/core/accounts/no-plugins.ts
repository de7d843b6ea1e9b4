import type { KeySlots } from "../../../core/accounts/keys.ts";

/** The slots of a gateway whose plugins seal no keys and grant no discounts. */
export const NO_PLUGINS: KeySlots = {
  keySealer: { current: undefined },
  discounts: { all: [] },
};
