import { matchesModel } from "../catalogue/model-pattern.ts";
import { AddressRanges } from "../process/client-address.ts";
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
}

/** New values of limits. `null` removes a limit; one that is left out stays. */
export type KeyLimitsChange = {
  readonly [Field in keyof KeyLimitsJson]?: KeyLimitsJson[Field] | null | undefined;
};

/** The limits of a key, read once for many calls. */
export class KeyLimits {
  readonly isPaused: boolean;
  /** Approximate memory, in bytes. */
  readonly bytes: number;
  private readonly endsAtMs: number;
  private readonly models: readonly string[] | undefined;
  private readonly addresses: AddressRanges | undefined;

  /** `json`: the text of a `KeyLimitsJson`. */
  constructor(json: string) {
    const { paused, ends_at, models, addresses }: KeyLimitsJson = JSON.parse(json);
    this.isPaused = paused === true;
    this.bytes = LIMITS_BYTES + BYTES_PER_CHARACTER * json.length;
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
