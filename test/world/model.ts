import type { Model } from "../../core/catalogue/catalogue.ts";
import { priced } from "../support/plugin-desk.ts";

/** Price of a token, µđ. */
export const TOKEN_MICRO_VND = 50_000;

/** The one model of the world. */
export const MODEL: Model = Object.freeze({
  id: "sim",
  price: priced("mtok", TOKEN_MICRO_VND),
  channel: "standard",
  contextWindow: 4_096,
  maxOutputTokens: 2_000,
  labels: new Set<never>(),
  standard: "chat",
  routes: [{ upstream: "main", model: "sim", weight: 1, priority: 1, profile: {} }],
  catalogueVersion: "sim",
} as unknown as Model);
