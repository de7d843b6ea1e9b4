import type { KeySealer, MemberLimits } from "../accounts/index.ts";
import type { BodyMeasure } from "../body/thread-work.ts";
import type { DiscountSource } from "../catalogue/discount.ts";
import type { Corrections } from "../money/ledger/corrections.ts";
import type { Operations } from "../money/operations.ts";
import type { Wallets } from "../money/wallet.ts";
import type { ModelNames } from "../plugin/model-names.ts";
import type {
  CoreSlot,
  CoreSlotName,
  PluginCounter,
  PluginGauge,
  ProviderCosts,
  SharedSlot,
  Slot,
  SlotName,
  Slots,
} from "../plugin/slot.ts";
import {
  type CustomerGuard,
  type Customers,
  type Messages,
  noCustomers,
  noMessages,
  noOperators,
  type OperatorGuard,
  type Operators,
  refuseCustomers,
  refuseOperators,
  unknownCosts,
} from "../plugin/slot.ts";

/** One run of a plugin. Compared by identity: during a reload, a plugin may run beside its older self. */
export interface Owner {
  readonly name: string;
  /** The slots that the plugin's module names. */
  readonly uses: readonly SlotName[];
}

interface CoreValues {
  readonly wallets: Wallets;
  readonly operations: Operations;
  readonly corrections: Corrections;
}

/**
 * Core's side of the slots. A value counts only while its owner is in the generation of plugins that serves. So core
 * never uses a plugin that a reload has replaced, or one that a failed reload has started. A plugin in its `start` sees
 * the generation that it will serve in.
 */
export class SlotBoard {
  private serving: ReadonlySet<Owner> | undefined;
  private starting: ReadonlySet<Owner> | undefined;
  private readonly places = placesBy((viewer, owner) => this.counts(viewer, owner));

  constructor(
    private readonly exactNames: ModelNames,
    private readonly core: CoreValues,
  ) {}

  /** Returns the slots as `viewer` sees and fills them. Without a viewer: as core sees them, which fills none. */
  slotsOf(viewer: Owner | undefined): Slots {
    const { places } = this;
    return {
      wallets: offered("wallets", this.core.wallets, viewer),
      operations: offered("operations", this.core.operations, viewer),
      corrections: offered("corrections", this.core.corrections, viewer),
      guards: {
        operator: places.operator.slot(viewer, refuseOperators),
        customer: places.customer.slot(viewer, refuseCustomers),
      },
      operators: places.operators.slot(viewer, noOperators()),
      customers: places.customers.slot(viewer, noCustomers()),
      messages: places.messages.slot(viewer, noMessages),
      modelNames: places.modelNames.slot(viewer, this.exactNames),
      keySealer: places.keySealer.slot(viewer, undefined),
      memberLimits: places.memberLimits.slot(viewer, undefined),
      providerCosts: places.providerCosts.slot(viewer, unknownCosts),
      discounts: places.discounts.shared(viewer),
      counters: places.counters.shared(viewer),
      gauges: places.gauges.shared(viewer),
      bodyMeasures: places.bodyMeasures.shared(viewer),
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
    for (const place of Object.values(this.places)) place.withdraw(owner);
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

function placesBy(counts: Counts) {
  return {
    operator: new Place<OperatorGuard>(counts),
    customer: new Place<CustomerGuard>(counts),
    operators: new Place<Operators>(counts),
    customers: new Place<Customers>(counts),
    messages: new Place<Messages>(counts),
    modelNames: new Place<ModelNames>(counts),
    keySealer: new Place<KeySealer | undefined>(counts),
    memberLimits: new Place<MemberLimits | undefined>(counts),
    providerCosts: new Place<ProviderCosts>(counts),
    discounts: new Place<DiscountSource>(counts),
    counters: new Place<PluginCounter>(counts),
    gauges: new Place<PluginGauge>(counts),
    bodyMeasures: new Place<BodyMeasure>(counts),
  };
}

type Counts = (viewer: Owner | undefined, owner: Owner) => boolean;

/** The values of one slot, oldest first. */
class Place<T> {
  private readonly provided: { readonly owner: Owner; readonly value: T }[] = [];

  constructor(private readonly counts: Counts) {}

  slot(viewer: Owner | undefined, empty: T): Slot<T> {
    const seen = () => this.provided.findLast(({ owner }) => this.counts(viewer, owner));
    return {
      get current() {
        const newest = seen();
        return newest ? newest.value : empty;
      },
      provide: (value) => this.provide(viewer, value),
    };
  }

  shared(viewer: Owner | undefined): SharedSlot<T> {
    const all = () =>
      this.provided.filter(({ owner }) => this.counts(viewer, owner)).map(({ value }) => value);
    return {
      get all() {
        return all();
      },
      provide: (value) => this.provide(viewer, value),
    };
  }

  withdraw(owner: Owner): void {
    for (let at = this.provided.length - 1; at >= 0; at--) {
      if (this.provided[at]?.owner === owner) this.provided.splice(at, 1);
    }
  }

  private provide(owner: Owner | undefined, value: T): () => void {
    if (owner === undefined) throw new Error("core cannot fill a slot: only plugins can");
    const entry = { owner, value };
    this.provided.push(entry);
    return () => {
      const at = this.provided.indexOf(entry);
      if (at >= 0) this.provided.splice(at, 1);
    };
  }
}
