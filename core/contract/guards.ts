import { type Refusal, refuse } from "./refusal.ts";
import type { PlainRequest } from "./routes/router.ts";
import type { Slot } from "./slot.ts";

/** Who is signed in. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly sessionId: string;
}

/** Returns undefined if the request is an operator's. */
export type OperatorGuard = (request: PlainRequest) => Promise<Refusal | undefined>;

/** Returns who asks; if the request changes something, it must come from the customer's own page as well. */
export type CustomerGuard = (request: PlainRequest) => Promise<Customer | Refusal>;

/** Who may enter the routes that plugins own. Until a plugin provides a guard, it refuses every request. */
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
