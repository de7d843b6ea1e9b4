import type { KeySlots } from "../../../core/accounts/keys.ts";

/** The slots of a gateway without plugins that seal keys or grant discounts. */
export const NO_PLUGINS: KeySlots = {
  keySealer: { current: undefined },
  discounts: { all: [] },
  teamMembers: { current: undefined },
};
