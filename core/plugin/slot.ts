import type { KeySealer } from "../accounts/index.ts";
import type { DiscountSource } from "../catalogue/discount.ts";
import type { BodyMeasure } from "./body-threads.ts";
import type { PluginCounter, PluginGauge } from "./counter.ts";
import type { Customers } from "./customers.ts";
import type { Guards } from "./guards.ts";
import type { ModelNames } from "./model-names.ts";

/** A place that one plugin fills for core and for other plugins. */
export interface Slot<T> {
  /**
   * The value of the newest running provider, or a default if there is none. Read it at each use: a
   * reload changes it.
   */
  readonly current: T;
  /**
   * Fills the slot until you call the returned function or the plugin stops. Core withdraws the
   * values of a stopped plugin. During a reload, values take effect once all plugins have started;
   * if one fails to start, they never do.
   */
  provide(value: T): () => void;
}

/** A place that several plugins fill at the same time. */
export interface SharedSlot<T> {
  /** The values of all running providers, oldest first. */
  readonly all: readonly T[];
  /** Adds a value, under the rules of `Slot.provide`. */
  provide(value: T): () => void;
}

/** All slots, as part of `services`. */
export interface Slots {
  readonly guards: Guards;
  readonly customers: Slot<Customers>;
  readonly modelNames: Slot<ModelNames>;
  /**
   * Encrypts every new key. While it is undefined, the text of a new key is shown once and not
   * stored.
   */
  readonly keySealer: Slot<KeySealer | undefined>;
  /** Core asks every source whenever it reads a key. */
  readonly discounts: SharedSlot<DiscountSource>;
  /** Counters that plugins add to `/metrics`. */
  readonly counters: SharedSlot<PluginCounter>;
  /** Gauges that plugins add to `/metrics`. */
  readonly gauges: SharedSlot<PluginGauge>;
  /** Measures that plugins take of each long body that a thread translates. */
  readonly bodyMeasures: SharedSlot<BodyMeasure>;
}

/** Names of the slots for `provides` and `uses` of a plugin's module. */
export const SLOT_NAMES = [
  "guards.operator",
  "guards.customer",
  "customers",
  "modelNames",
  "keySealer",
  "discounts",
  "counters",
  "gauges",
  "bodyMeasures",
] as const;
export type SlotName = (typeof SLOT_NAMES)[number];
