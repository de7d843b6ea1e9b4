import { formatVnd, MICRO_VND_PER_VND, type MicroVnd } from "../catalogue/amount.ts";
import { matchesModel } from "../catalogue/model-pattern.ts";
import type { Purse } from "../money/hold-store.ts";
import { AddressRanges } from "../process/client-address.ts";
import { dayOf, endOfDay, endOfMonth, startOfDay } from "../process/vietnam-day.ts";
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

/** The key that limits are of, or the member of a team: they count for all keys that he uses. */
export interface Limited {
  readonly kind: "key" | "member";
  readonly id: string;
}

/** The amount that a key, or a member, may spend in a period, as the purse that its calls count against. It begins when it is first set. */
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

/** The limits of a key or of a member, read once for many calls. */
export class KeyLimits {
  /** Of a key that a member uses: his limits, which hold too. */
  ofMember: KeyLimits | undefined = undefined;
  readonly isPaused: boolean;
  readonly callsPerMinute: number | undefined;
  readonly callsAtOnce: number | undefined;
  private readonly ownBytes: number;
  private readonly endsAtMs: number;
  private readonly models: readonly string[] | undefined;
  private readonly addresses: AddressRanges | undefined;
  private readonly amounts: readonly (readonly [KeyBudget["period"], string])[];
  /** The first instant of the day of `ofDay`, and of the next. */
  private readonly dayMs = { from: 0, until: 0 };
  private ofDay: readonly KeyBudget[] = [];

  /** `characters`: the length of their JSON, for one that is cached. */
  constructor(
    readonly of: Limited,
    limits: KeyLimitsJson,
    characters = 0,
  ) {
    const { paused, ends_at, models, addresses } = limits;
    this.callsPerMinute = limits.calls_per_minute;
    this.callsAtOnce = limits.calls_at_once;
    this.amounts = PERIODS.flatMap((period) => {
      const vnd = limits[`${period}_vnd`];
      return vnd === undefined ? [] : [[period, vnd] as const];
    });
    this.isPaused = paused === true;
    this.ownBytes = LIMITS_BYTES + BYTES_PER_CHARACTER * characters;
    this.endsAtMs = ends_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(ends_at);
    this.models = models;
    this.addresses = addresses && new AddressRanges(addresses);
  }

  /** Approximate memory, in bytes. */
  get bytes(): number {
    return this.ownBytes + (this.ofMember?.bytes ?? 0);
  }

  /** Refuses a call, by its key and its client alone: 401 once the key has ended, else 403. */
  refusal(nowMs: number, call: { clientAddress(): string }): Refusal | undefined {
    const { kind } = this.of;
    if (nowMs >= this.endsAtMs) return ENDED[kind];
    if (this.isPaused) return PAUSED[kind];
    if (this.addresses && !this.addresses.has(call.clientAddress())) {
      const what = kind === "key" ? "This API key does" : "Your place in this team does";
      return refuse.forbidden(
        `${what} not take calls from ${call.clientAddress()}: call from an address that it allows. ${ASK[kind]}`,
        { code: "address_not_allowed" },
      );
    }
    return this.ofMember?.refusal(nowMs, call);
  }

  /** Returns the budgets for a call that holds its money at this time. */
  budgets(nowMs: number): readonly KeyBudget[] {
    if (this.amounts.length === 0 && this.ofMember === undefined) return this.ofDay;
    const { dayMs } = this;
    if (nowMs < dayMs.from || nowMs >= dayMs.until) {
      const day = dayOf(new Date(nowMs));
      const own = this.amounts.map(([period, vnd]) => budgetOf(this.of, period, day, vnd));
      this.ofDay = [...own, ...(this.ofMember?.budgets(nowMs) ?? [])];
      dayMs.from = startOfDay(day).getTime();
      dayMs.until = endOfDay(day).getTime();
    }
    return this.ofDay;
  }

  /** Refuses a call to a model that the key is not for. */
  refusalOf(modelId: string): Refusal | undefined {
    const { models } = this;
    if (!models || models.some((pattern) => matchesModel(pattern, modelId))) {
      return this.ofMember?.refusalOf(modelId);
    }
    const what = this.of.kind === "key" ? "This API key" : "Your place in this team";
    return refuse.forbidden(
      `${what} is not for the model ${modelId}; it is for ${models.join(", ")}. ${ASK[this.of.kind]}`,
      { param: "model", code: "model_not_allowed" },
    );
  }
}

const PERIODS = ["day", "month", "total"] as const;

const A_PERIOD = { day: "a day", month: "a month", total: "in all" };

function budgetOf(of: Limited, period: KeyBudget["period"], day: string, vnd: string): KeyBudget {
  const place = { day, month: day.slice(0, 7), total: "total" }[period];
  const until = { day: endOfDay(day), month: endOfMonth(day), total: undefined }[period];
  const budget = `${vnd} đ ${A_PERIOD[period]}`;
  const spent = of.kind === "key" ? keySpent : memberSpent;
  return {
    period,
    until,
    name: `${of.kind}:${of.id}:${place}`,
    limitMicroVnd: Number(vnd) * MICRO_VND_PER_VND,
    refusal: (availableMicroVnd) =>
      spent(formatVnd(Math.max(0, availableMicroVnd)), budget, until?.toISOString()),
  };
}

/** `left` is in đồng. `until`: when the period ends. */
function keySpent(left: string, budget: string, until: string | undefined): Refusal {
  const wait = until ? `Wait until ${until}, or use another key.` : "Use another key.";
  return refuse.insufficientBalance(
    `This API key has ${left} đ left of its budget of ${budget}, too little for this call. ${wait} ${ASK.key}`,
    { code: "key_budget_exceeded" },
  );
}

function memberSpent(left: string, budget: string, until: string | undefined): Refusal {
  const wait = until ? `Wait until ${until}. ` : "";
  return refuse.insufficientBalance(
    `You have ${left} đ left of your budget of ${budget} in this team, too little for this call. ${wait}${ASK.member}`,
    { code: "member_budget_exceeded" },
  );
}

const LIMITS_BYTES = 300;
/** A short range of addresses takes the most. */
const BYTES_PER_CHARACTER = 30;

const ASK = {
  key: "Its owner can change that on the dashboard's page API keys.",
  member: "The team's owner can change that on the dashboard's page Team.",
};

const ENDED = {
  key: refuse.unauthenticated(
    `The end date of this API key has passed: use another key. ${ASK.key}`,
    { code: "key_expired" },
  ),
  member: refuse.unauthenticated(`Your time in this team has ended. ${ASK.member}`, {
    code: "member_expired",
  }),
};

const PAUSED = {
  key: refuse.forbidden(
    "This API key is paused: use another key, or resume it on the dashboard's page API keys.",
    { code: "key_paused" },
  ),
  member: refuse.forbidden(
    `You are paused in this team, or no longer in it: use a key of another wallet. ${ASK.member}`,
    { code: "member_paused" },
  ),
};
