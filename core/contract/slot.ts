import type { KeySealer } from "./accounts.ts";
import type { Customers } from "./customers.ts";
import type { DiscountSource } from "./discount.ts";
import type { Guards } from "./guards.ts";
import type { ModelNames } from "./model-names.ts";

/** A place that one plugin fills for core and for the other plugins. */
export interface Slot<T> {
  /**
   * The value of the newest provider that runs, or the one that stands in while there is none. Read it at each use:
   * a reload changes it.
   */
  readonly current: T;
  /**
   * Fills the slot until the returned function is called or the plugin stops: core withdraws what a stopped plugin
   * has provided. During a reload a value counts once all plugins have started; if one fails to, it never does.
   */
  provide(value: T): () => void;
}

/** A place that several plugins fill side by side. */
export interface SharedSlot<T> {
  /** The values of all providers that run, oldest first. */
  readonly all: readonly T[];
  /** As in `Slot`. */
  provide(value: T): () => void;
}

/** Every slot, as a plugin finds it in `services`. */
export interface Slots {
  readonly guards: Guards;
  readonly customers: Slot<Customers>;
  readonly modelNames: Slot<ModelNames>;
  /** Seals every key created from now on; undefined: a key's text is gone once it was shown. */
  readonly keySealer: Slot<KeySealer | undefined>;
  /** Asked whenever a key is read. */
  readonly discounts: SharedSlot<DiscountSource>;
}

/** What a plugin's module calls the slots in `provides` and `uses`. */
export const SLOT_NAMES = [
  "guards.operator",
  "guards.customer",
  "customers",
  "modelNames",
  "keySealer",
  "discounts",
] as const;
export type SlotName = (typeof SLOT_NAMES)[number];
