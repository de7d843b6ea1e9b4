import type { KeySealer, TeamMembers } from "../accounts/index.ts";
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
import type { Customer, PlainRequest } from "./router.ts";

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
  readonly messages: Slot<Messages>;
  readonly modelNames: Slot<ModelNames>;
  /** Encrypts every new key. While it is undefined, the text of a new key is shown once and not stored. */
  readonly keySealer: Slot<KeySealer | undefined>;
  /** Knows the members of teams. While it is undefined, keys that members use serve no calls. */
  readonly teamMembers: Slot<TeamMembers | undefined>;
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
  "messages",
  "modelNames",
  "keySealer",
  "teamMembers",
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
type ProviderCosts = (call: Call) => MicroVnd | null;

export const unknownCosts: ProviderCosts = () => null;

/** A number that a plugin adds to `/metrics`, the same in all processes: one that it reads from a store. */
interface PluginGauge {
  /** No other gauge has it. */
  readonly name: string;
  readonly help: string;
  /** Returns the last reading; undefined before the first. */
  value(): number | undefined;
  /** When the newest of what it counts began to wait; undefined if none does. A newer one is news while others wait. */
  newest?(): Date | undefined;
}

/** A counter that a plugin adds to `/metrics`, by one label. */
interface PluginCounter {
  /** Ends with `_total`, and no other counter has it. */
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Returns the counts since the start of the plugin, by the value of the label. */
  counts(): Readonly<Record<string, number>>;
}

/** The requests that other plugins may make to the plugin that signs customers in. */
interface Customers {
  /** The address that customers open, without a trailing slash; undefined if no plugin signs customers in. */
  readonly publicUrl: string | undefined;
  /** Who can sign up: everyone, those with the code of an invitation, or no one. */
  readonly signUp: "open" | "invited" | "closed";
  /** Addresses of the texts that customers agree to when they sign up; both undefined if there are none. */
  readonly agreements: { readonly terms?: string; readonly privacy?: string };
  /** Maximum active keys of one account. */
  readonly activeKeysMax: number;

  /**
   * Sets the password of an account's owner and marks their address as verified. Returns false if no plugin signs
   * customers in.
   */
  setPassword(accountId: string, password: string): Promise<boolean>;

  /** Returns how to write to the owner of an account; undefined if there is no such account. */
  recipient(accountId: string): Promise<Recipient | undefined>;

  /** Refuses what a stolen session alone must not do: the customer must have given the password or a code lately. */
  unproven(customer: Customer): Promise<Refusal | undefined>;

  /**
   * Writes a mail into the outbox that invites an address, perhaps without an account, to the team of this account.
   * `from`: who invites. One cause has one mail.
   */
  invite(accountId: string, email: string, from: string, cause: string): Promise<void>;
}

/** The owner of an account, as mails reach him. */
interface Recipient {
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly language: "vi" | "en";
}

/** Writes to customers. */
interface Messages {
  /** True if mails reach people: a mail server is configured. Otherwise only mails with a secret are shown: they are printed. */
  readonly sendsMail: boolean;
  /**
   * Writes a mail to the outbox, unless the customer has switched its kind off. Resolves once it cannot be lost. A second one of the
   * same cause is ignored for 90 days.
   */
  post(message: Message): Promise<void>;
  /**
   * Writes a text to all customers with a verified address who have not switched its kind off. Returns how many; undefined if one
   * of this name was written before.
   */
  announce(announcement: Announcement): Promise<number | undefined>;
  /** Mails with a secret, such as a link that signs in, which is stored nowhere: a stop or crash drops those that wait. */
  readonly secretMails: SecretMails;
}

/** A mail to the owner of an account. */
interface Message {
  readonly accountId: string;
  /** Another address than the owner's, in his language: one that may have no account. */
  readonly email?: string | undefined;
  /** Names the event: one cause has one mail. */
  readonly cause: string;
  /** Mails of a kind in `SWITCHABLE` of plugins/messages can be switched off, and go to verified addresses alone. */
  readonly kind: string;
  readonly texts: MessageTexts;
}

/** A text in both languages; a reader gets his own first. Without secrets: it is stored. */
type MessageTexts = Readonly<
  Record<"vi" | "en", { readonly subject: string; readonly paragraphs: readonly string[] }>
>;

/** The first line of each text is the subject. */
interface Announcement {
  readonly name: string;
  readonly kind: "announcement" | "prices";
  readonly vi: string;
  readonly en: string;
}

interface SecretMails {
  /** True if `take` would refuse a job. */
  readonly isFull: boolean;
  /** Queues a job, which returns the mail, or undefined if there is none. Returns false if the queue is full. */
  take(job: () => Promise<SecretMail | undefined>): boolean;
}

interface SecretMail {
  readonly to: string;
  readonly language: "vi" | "en";
  readonly kind: string;
  readonly texts: MessageTexts;
}

export const noCustomers: Customers = {
  publicUrl: undefined,
  signUp: "closed",
  agreements: {},
  activeKeysMax: 10,
  setPassword: async () => false,
  recipient: async () => undefined,
  unproven: async () => switchedOff("accounts"),
  invite: async () => {},
};

export const noMessages: Messages = {
  sendsMail: false,
  post: async () => {},
  announce: async () => 0,
  secretMails: { isFull: true, take: () => false },
};

/** The operators whom a plugin knows. */
interface Operators {
  /** Returns whose token it is; undefined if it is none, or has ended. */
  ofToken(token: string): Promise<Operator | undefined>;
  /** Returns a refusal while a movement waits for a second person; undefined if it may be made. */
  approval(movement: AskedMovement): Promise<Refusal | undefined>;
  /** Ends what waits for the request of this path, since there is nothing left to decide. */
  withdraw(path: string, note: string): Promise<void>;
  /** Lets an owner sign in with a password alone. Returns false if no plugin signs operators in. */
  setDemo(email: string, password: string): Promise<boolean>;
}

export const noOperators: Operators = {
  ofToken: async () => undefined,
  approval: async () => undefined,
  withdraw: async () => {},
  setDemo: async () => false,
};

/** Returns the operator that the request comes from, or a refusal. */
type OperatorGuard = (request: PlainRequest) => Promise<Operator | Refusal>;

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
