import type { Model } from "../../core/catalogue/catalogue.ts";
import { priced } from "../support/plugin-desk.ts";
import type { CallPlan } from "./call-plan.ts";

/** Price of a token, µđ, of a call that is not free. */
export const TOKEN_MICRO_VND = 50_000;

/** The models of the world, which differ by their price. */
const SOLD = modelOf("sim", TOKEN_MICRO_VND);
/** Its calls hold, post and are charged 0 đ. */
const FREE = modelOf("sim-free", 0);

type Priced = Pick<CallPlan, "isFree">;

export function modelIdOf({ isFree }: Priced): string {
  return (isFree ? FREE : SOLD).id;
}

/** Returns the model of a request. */
export function modelNamed(id: unknown): Model {
  return id === FREE.id ? FREE : SOLD;
}

/** Returns the price of a token of a call, µđ. */
export function tokenMicroVnd({ isFree }: Priced): number {
  return isFree ? 0 : TOKEN_MICRO_VND;
}

function modelOf(id: string, price: number): Model {
  return Object.freeze({
    id,
    price: priced("mtok", price),
    channel: "standard",
    contextWindow: 4_096,
    maxOutputTokens: 2_000,
    labels: new Set<never>(),
    standard: "chat",
    routes: [{ upstream: "main", model: "sim", weight: 1, priority: 1, profile: {} }],
    catalogueVersion: "sim",
  } as unknown as Model);
}
