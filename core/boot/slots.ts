import type { ModelNames } from "../plugin/model-names.ts";
import {
  type CoreSlot,
  type CoreSlotName,
  noCustomers,
  noMessages,
  noOperators,
  type PluginSlotName,
  refuseCustomers,
  refuseOperators,
  type SharedSlot,
  type Slot,
  type SlotName,
  type Slots,
  unknownCosts,
} from "../plugin/slot.ts";

/** One run of a plugin. Compared by identity: during a reload, a plugin may run beside its older self. */
export interface Owner {
  readonly name: string;
  /** The slots that the plugin's module names. */
  readonly uses: readonly SlotName[];
}

interface Provided<T = unknown> {
  readonly owner: Owner;
  readonly value: T;
}

type CoreValues = { readonly [Name in CoreSlotName]: Slots[Name]["current"] };

/**
 * Core's side of the slots. A value counts only while its owner is in the generation of plugins that serves. So core
 * never uses a plugin that a reload has replaced, or one that a failed reload has started. A plugin in its `start` sees
 * the generation that it will serve in.
 */
export class SlotBoard {
  private serving: ReadonlySet<Owner> | undefined;
  private starting: ReadonlySet<Owner> | undefined;
  private readonly places = new Map<PluginSlotName, readonly Provided[]>();

  constructor(
    private readonly exactNames: ModelNames,
    private readonly core: CoreValues,
  ) {}

  /** Returns the slots as `viewer` sees and fills them. Without a viewer: as core sees them, which fills none. */
  slotsOf(viewer: Owner | undefined): Slots {
    const slot = <T>(name: PluginSlotName, empty: T) => this.slot(name, viewer, empty);
    const shared = <T>(name: PluginSlotName) => this.sharedSlot<T>(name, viewer);
    return {
      wallets: offered("wallets", this.core.wallets, viewer),
      operations: offered("operations", this.core.operations, viewer),
      corrections: offered("corrections", this.core.corrections, viewer),
      guards: {
        operator: slot("guards.operator", refuseOperators),
        customer: slot("guards.customer", refuseCustomers),
      },
      operators: slot("operators", noOperators),
      customers: slot("customers", noCustomers),
      messages: slot("messages", noMessages),
      modelNames: slot("modelNames", this.exactNames),
      keySealer: slot("keySealer", undefined),
      teamMembers: slot("teamMembers", undefined),
      providerCosts: slot("providerCosts", unknownCosts),
      discounts: shared("discounts"),
      counters: shared("counters"),
      gauges: shared("gauges"),
      bodyMeasures: shared("bodyMeasures"),
    };
  }

  /** Begins a generation. The serving one stays in effect until `serve`. */
  start(generation: ReadonlySet<Owner>): void {
    this.starting = generation;
  }

  serve(): void {
    this.serving = this.starting ?? this.serving;
    this.starting = undefined;
  }

  giveUp(): void {
    this.starting = undefined;
  }

  withdraw(owner: Owner): void {
    for (const [name, provided] of this.places) {
      const others = provided.filter((entry) => entry.owner !== owner);
      this.places.set(name, others);
    }
  }

  private slot<T>(name: PluginSlotName, viewer: Owner | undefined, empty: T): Slot<T> {
    const newest = () => this.provided<T>(name).findLast(({ owner }) => this.counts(viewer, owner));
    return {
      get current() {
        const entry = newest();
        return entry ? entry.value : empty;
      },
      provide: (value) => this.provide(name, viewer, value),
    };
  }

  private sharedSlot<T>(name: PluginSlotName, viewer: Owner | undefined): SharedSlot<T> {
    const seen = () => this.provided<T>(name).filter(({ owner }) => this.counts(viewer, owner));
    return {
      get all() {
        return seen().map(({ value }) => value);
      },
      provide: (value) => this.provide(name, viewer, value),
    };
  }

  /** Returns the values of a slot, oldest first. Their type is that of the slot, which `slotsOf` alone names. */
  private provided<T>(name: PluginSlotName): readonly Provided<T>[] {
    return (this.places.get(name) ?? []) as Provided<T>[];
  }

  private provide(name: PluginSlotName, owner: Owner | undefined, value: unknown): () => void {
    if (owner === undefined) throw new Error("core cannot fill a slot: only plugins can");
    const entry = { owner, value };
    this.places.set(name, [...this.provided(name), entry]);
    return () => {
      const others = this.provided(name).filter((other) => other !== entry);
      this.places.set(name, others);
    };
  }

  private counts(viewer: Owner | undefined, owner: Owner): boolean {
    const { serving, starting } = this;
    const isStarting = viewer && starting?.has(viewer) && !serving?.has(viewer);
    // During the first start no generation serves yet. Core may still read a slot: the plugin `demo` makes core seal a
    // key.
    const generation = isStarting ? starting : (serving ?? starting);
    return generation?.has(owner) ?? false;
  }
}

/** Returns a slot that core fills, as `viewer` sees it. */
function offered<T>(name: CoreSlotName, value: T, viewer: Owner | undefined): CoreSlot<T> {
  if (viewer === undefined || viewer.uses.includes(name)) return { current: value };
  const message = `the plugin ${viewer.name} reads the slot ${name}: name it in the module's export \`uses\``;
  return {
    get current(): T {
      throw new Error(message);
    },
  };
}
