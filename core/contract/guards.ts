import { type Refusal, refuse } from "./refusal.ts";
import type { PlainRequest } from "./routes/router.ts";

/** Who is signed in. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly sessionId: string;
}

/**
 * Who may enter the routes that plugins own. Whichever plugin knows operators or customers puts its check in
 * place of the one that turns everybody away, so that the others can ask without knowing that plugin.
 */
export interface Gates {
  /** Undefined where the request is an operator's. */
  operator(request: PlainRequest): Promise<Refusal | undefined>;
  /** Who asks; where the request changes something, that it comes from the customer's own page as well. */
  customer(request: PlainRequest): Promise<Customer | Refusal>;
}

export function closedGates(): Gates {
  return {
    operator: async () => switchedOff("admin"),
    customer: async () => switchedOff("accounts"),
  };
}

function switchedOff(plugin: string): Refusal {
  return refuse.unavailable(
    `This needs the plugin ${plugin}, which is switched off: add it to the config's list of plugins.`,
  );
}
