/**
 * What other plugins may ask of the one that lets customers sign in. Without such a plugin nobody can be let
 * in, and it says so.
 */
export interface Customers {
  /**
   * Lets the owner of an account sign in with this password; their address counts as verified. False where
   * no plugin lets customers sign in.
   */
  setPassword(accountId: string, password: string): Promise<boolean>;
}

export function noCustomers(): Customers {
  return { setPassword: async () => false };
}
