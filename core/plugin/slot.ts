import type { KeySealer } from "../accounts/index.ts";
import type { BodyMeasure } from "../body/thread-work.ts";
import type { MicroVnd } from "../catalogue/amount.ts";
import type { DiscountSource } from "../catalogue/discount.ts";
import type { Corrections } from "../money/ledger/corrections.ts";
import type { Operations } from "../money/operations.ts";
import type { Wallets } from "../money/wallet.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Call } from "./call.ts";
import type { ModelNames } from "./model-names.ts";
import type { AskedMovement, Operator } from "./operator.ts";
import type { PlainRequest } from "./router.ts";

/** A place that one plugin fills for core and for other plugins. */
export interface Slot<T> {
  /**
   * The value of the newest running provider, or a default if there is none. Read it at each use: a reload changes it.
   */
  readonly current: T;
  /**
   * Fills the slot until you call the returned function or the plugin stops. Core withdraws the values of a stopped
   * plugin. During a reload, values take effect once all plugins have started; if one fails to start, they never do.
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

/** A slot that core fills, for the plugins whose module names it in `uses`. Reading it throws for others. */
export type CoreSlot<T> = Pick<Slot<T>, "current">;

/** All slots, as part of `services`. */
export interface Slots {
  /** Moves money: holds, posts, credits. For plugins that charge calls, or credit accounts. */
  readonly wallets: CoreSlot<Wallets>;
  /** The books of money, as operators prove and repair them. */
  readonly operations: CoreSlot<Operations>;
  /** Takes top-ups back, and refunds calls. */
  readonly corrections: CoreSlot<Corrections>;
  readonly guards: Guards;
  /** People and named tokens beside the shared token. Without a plugin that has them, that token does everything. */
  readonly operators: Slot<Operators>;
  readonly customers: Slot<Customers>;
  readonly modelNames: Slot<ModelNames>;
  /** Encrypts every new key. While it is undefined, the text of a new key is shown once and not stored. */
  readonly keySealer: Slot<KeySealer | undefined>;
  /** Says what a call costs the operator, for its record. */
  readonly providerCosts: Slot<ProviderCosts>;
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
export const CORE_SLOT_NAMES = ["wallets", "operations", "corrections"] as const;
export const PLUGIN_SLOT_NAMES = [
  "guards.operator",
  "guards.customer",
  "operators",
  "customers",
  "modelNames",
  "keySealer",
  "providerCosts",
  "discounts",
  "counters",
  "gauges",
  "bodyMeasures",
] as const;
export type CoreSlotName = (typeof CORE_SLOT_NAMES)[number];
export type PluginSlotName = (typeof PLUGIN_SLOT_NAMES)[number];
export type SlotName = CoreSlotName | PluginSlotName;

/** Returns true for a slot that core fills itself. */
export function isCoreSlot(name: SlotName): name is CoreSlotName {
  return CORE_SLOT_NAMES.some((core) => core === name);
}

/** Returns what the provider bills for a call that has ended, in µđ; null if that is not known. Its usage is final. */
export type ProviderCosts = (call: Call) => MicroVnd | null;

export const unknownCosts: ProviderCosts = () => null;

/** A number that a plugin adds to `/metrics`, the same in all processes: one that it reads from a store. */
export interface PluginGauge {
  /** No other gauge has it. */
  readonly name: string;
  readonly help: string;
  /** Returns the last reading; undefined before the first. */
  value(): number | undefined;
}

/** A counter that a plugin adds to `/metrics`, by one label. */
export interface PluginCounter {
  /** Ends with `_total`, and no other counter has it. */
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Returns the counts since the start of the plugin, by the value of the label. */
  counts(): Readonly<Record<string, number>>;
}

/** The requests that other plugins may make to the plugin that signs customers in. */
export interface Customers {
  /** The address that customers open, without a trailing slash; undefined if no plugin signs customers in. */
  readonly publicUrl: string | undefined;
  /** Who can sign up: everyone, those with the code of an invitation, or no one. */
  readonly signUp: "open" | "invited" | "closed";
  /** Addresses of the texts that customers agree to when they sign up; both undefined if there are none. */
  readonly agreements: { readonly terms?: string; readonly privacy?: string };

  /**
   * Sets the password of an account's owner and marks their address as verified. Returns false if no plugin signs
   * customers in.
   */
  setPassword(accountId: string, password: string): Promise<boolean>;

  /** True if mails reach customers: a mail server is configured. */
  readonly sendsMail: boolean;

  /**
   * Queues a mail to the owner of an account, if their address is verified. Returns false if the queue is full, or no mails
   * are sent.
   */
  mail(accountId: string, mail: CustomerMail): boolean;
}

/** A mail of a plugin, with texts in the customer's language and then in the other one. */
interface CustomerMail {
  readonly texts: Readonly<
    Record<"vi" | "en", { readonly subject: string; readonly paragraphs: readonly string[] }>
  >;
  /** Runs right before the mail is sent. Returns false if it must not be sent, or another process sends it. */
  claim(): Promise<boolean>;
  /** Ends a claim whose mail was not sent: the server did not take it, or the gateway stops. */
  release(): Promise<void>;
}

export function noCustomers(): Customers {
  return {
    publicUrl: undefined,
    signUp: "closed",
    agreements: {},
    setPassword: async () => false,
    sendsMail: false,
    mail: () => false,
  };
}

/** A signed-in customer. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly sessionId: string;
}

/** The operators whom a plugin knows. */
export interface Operators {
  /** Returns whose token it is; undefined if it is none, or has ended. */
  ofToken(token: string): Promise<Operator | undefined>;
  /** Returns a refusal while a movement waits for a second person; undefined if it may be made. */
  approval(movement: AskedMovement): Promise<Refusal | undefined>;
  /** Lets an owner sign in with a password alone. Returns false if no plugin signs operators in. */
  setDemo(email: string, password: string): Promise<boolean>;
}

export function noOperators(): Operators {
  return {
    ofToken: async () => undefined,
    approval: async () => undefined,
    setDemo: async () => false,
  };
}

/** Returns the operator that the request comes from, or a refusal. */
export type OperatorGuard = (request: PlainRequest) => Promise<Operator | Refusal>;

/**
 * Returns the signed-in customer, or a refusal. A request that changes something must also come from the gateway's own
 * pages, not from another site.
 */
export type CustomerGuard = (request: PlainRequest) => Promise<Customer | Refusal>;

/** Access checks of the routes that plugins own. Until a plugin provides a guard, every request is refused. */
interface Guards {
  readonly operator: Slot<OperatorGuard>;
  readonly customer: Slot<CustomerGuard>;
}

export const refuseOperators: OperatorGuard = async () => switchedOff("admin");
export const refuseCustomers: CustomerGuard = async () => switchedOff("accounts");

function switchedOff(plugin: string): Refusal {
  return refuse.unavailable(
    `This needs the plugin ${plugin}, which is switched off: add it to the config's list of plugins.`,
  );
}
