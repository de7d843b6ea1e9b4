import type { JsonObject } from "../../../core/process/json.ts";
import { API_KEY, BANK } from "../topup/topups.ts";

/** Settings for top-ups by bank transfer, with notifications sent by `notify`. */
export function topupSettings(): JsonObject {
  return { bank: BANK, webhook: { api_key: API_KEY }, promotions: { counted: "transfers" } };
}
