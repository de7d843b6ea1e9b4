import type { JsonObject } from "../../../core/process/json.ts";
import { API_KEY, BANK } from "../topup/topups.ts";

/** Top-ups into a bank's account, with notifications that `notify` sends. */
export function topupSettings(): JsonObject {
  return { bank: BANK, webhook: { api_key: API_KEY }, promotions: { counted: "transfers" } };
}
