import { formatVnd, MICRO_VND_PER_VND, type MicroVnd } from "../catalogue/amount.ts";
import { matchesModel } from "../catalogue/model-pattern.ts";
import type { Purse } from "../money/hold-store.ts";
import { AddressRanges } from "../process/client-address.ts";
import { dayOf, endOfDay, endOfMonth } from "../process/vietnam-day.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

/** The limits of a key, as they are stored, sent and shown. A field that is left out does not limit. */
export interface KeyLimitsJson {
  readonly paused?: true;
  /** The instant from which calls are refused, in ISO 8601. */
  readonly ends_at?: string;
  /** Ids of models. `*` stands for any characters. */
  readonly models?: readonly string[];
  /** Addresses of clients, each as in `isAddressRange`. */
  readonly addresses?: readonly string[];
  /** Budgets in whole đồng, as text: of a day in Vietnam, of a month there, and of the key's whole life. */
  readonly day_vnd?: string;
  readonly month_vnd?: string;
  readonly total_vnd?: string;
  /** These lower the limits of the plugin `rate-limit`, and raise none. */
  readonly calls_per_minute?: number;
  readonly calls_at_once?: number;
}

/** The amount that a key may spend in a period, as the purse that its calls count against. It begins when it is set. */
export interface KeyBudget extends Purse {
  readonly period: "day" | "month" | "total";
  /** The first instant of the next period; undefined if there is none. */
  readonly until: Date | undefined;
  /** Returns the refusal for a call that the budget does not cover. `availableMicroVnd` is what is left of it. */
  refusal(availableMicroVnd: MicroVnd): Refusal;
}

/** New values of limits. `null` removes a limit; one that is left out stays. */
export type KeyLimitsChange = {
  readonly [Field in keyof KeyLimitsJson]?: KeyLimitsJson[Field] | null | undefined;
};

/** The limits of a key, read once for many calls. */
export class KeyLimits {
  readonly isPaused: boolean;
  readonly callsPerMinute: number | undefined;
  readonly callsAtOnce: number | undefined;
  /** Approximate memory, in bytes. */
  readonly bytes: number;
  private readonly endsAtMs: number;
  private readonly models: readonly string[] | undefined;
  private readonly addresses: AddressRanges | undefined;
  private readonly keyId: string;
  private readonly amounts: readonly (readonly [KeyBudget["period"], string])[];
  private day = "";
  private ofDay: readonly KeyBudget[] = [];

  /** `characters`: the length of their JSON, for one that is cached. */
  constructor(keyId: string, limits: KeyLimitsJson, characters = 0) {
    const { paused, ends_at, models, addresses } = limits;
    this.keyId = keyId;
    this.callsPerMinute = limits.calls_per_minute;
    this.callsAtOnce = limits.calls_at_once;
    this.amounts = PERIODS.flatMap((period) => {
      const vnd = limits[`${period}_vnd`];
      return vnd === undefined ? [] : [[period, vnd] as const];
    });
    this.isPaused = paused === true;
    this.bytes = LIMITS_BYTES + BYTES_PER_CHARACTER * characters;
    this.endsAtMs = ends_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(ends_at);
    this.models = models;
    this.addresses = addresses && new AddressRanges(addresses);
  }

  /** Refuses a call, by its key and its client alone: 401 once the key has ended, else 403. */
  refusal(nowMs: number, call: { clientAddress(): string }): Refusal | undefined {
    if (nowMs >= this.endsAtMs) return ended();
    if (this.isPaused) return paused();
    if (this.addresses && !this.addresses.has(call.clientAddress())) {
      return elsewhere(call.clientAddress());
    }
    return undefined;
  }

  /** Returns the budgets for a call that holds its money at this time. */
  budgets(nowMs: number): readonly KeyBudget[] {
    if (this.amounts.length === 0) return this.ofDay;
    const day = dayOf(new Date(nowMs));
    if (day !== this.day) {
      this.ofDay = this.amounts.map(([period, vnd]) => budgetOf(this.keyId, period, day, vnd));
      this.day = day;
    }
    return this.ofDay;
  }

  /** Refuses a call to a model that the key is not for. */
  refusalOf(modelId: string): Refusal | undefined {
    const { models } = this;
    if (!models || models.some((pattern) => matchesModel(pattern, modelId))) return undefined;
    return refuse.forbidden(
      `This API key is not for the model ${modelId}; it is for ${models.join(", ")}. ${ASK_OWNER}`,
      { param: "model", code: "model_not_allowed" },
    );
  }
}

const PERIODS = ["day", "month", "total"] as const;

/** The words of a period, in a refusal. */
const A_PERIOD = { day: "a day", month: "a month", total: "in all" };

function budgetOf(keyId: string, period: KeyBudget["period"], day: string, vnd: string): KeyBudget {
  const place = { day, month: day.slice(0, 7), total: "total" }[period];
  const until = { day: endOfDay(day), month: endOfMonth(day), total: undefined }[period];
  const budget = `${vnd} đ ${A_PERIOD[period]}`;
  const wait = until
    ? `Wait until ${until.toISOString()}, or use another key.`
    : "Use another key.";
  return {
    period,
    until,
    name: `key:${keyId}:${place}`,
    limitMicroVnd: Number(vnd) * MICRO_VND_PER_VND,
    refusal: (availableMicroVnd) =>
      refuse.insufficientBalance(
        `This API key has ${formatVnd(Math.max(0, availableMicroVnd))} đ left of its budget of ${budget}, too little for this call. ${wait} ${ASK_OWNER}`,
        { code: "key_budget_exceeded" },
      ),
  };
}

const LIMITS_BYTES = 300;
/** A short range of addresses takes the most. */
const BYTES_PER_CHARACTER = 30;

const ASK_OWNER = "Its owner can change that on the dashboard's page API keys.";

function ended(): Refusal {
  return refuse.unauthenticated(
    `The end date of this API key has passed: use another key. ${ASK_OWNER}`,
    { code: "key_expired" },
  );
}

function paused(): Refusal {
  return refuse.forbidden(
    "This API key is paused: use another key, or resume it on the dashboard's page API keys.",
    { code: "key_paused" },
  );
}

function elsewhere(address: string): Refusal {
  return refuse.forbidden(
    `This API key does not take calls from ${address}: call from an address that it allows. ${ASK_OWNER}`,
    { code: "address_not_allowed" },
  );
}
