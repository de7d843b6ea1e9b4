import { type Refusal, refuse } from "../wire/refusal.ts";
import type { PlainRequest } from "./routes/router.ts";
import type { Slot } from "./slot.ts";

/** A signed-in customer. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly sessionId: string;
}

/** Returns undefined if the request comes from an operator, else the refusal. */
export type OperatorGuard = (request: PlainRequest) => Promise<Refusal | undefined>;

/**
 * Returns the signed-in customer, or a refusal. A request that changes something must also come
 * from the gateway's own pages, not from another site.
 */
export type CustomerGuard = (request: PlainRequest) => Promise<Customer | Refusal>;

/**
 * Access checks of the routes that plugins own. Until a plugin provides a guard, every request is
 * refused.
 */
export interface Guards {
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
