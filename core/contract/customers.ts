/** The requests that other plugins may make to the plugin that signs customers in. */
export interface Customers {
  /**
   * Sets the password of an account's owner and marks their address as verified. Returns false if
   * no plugin signs customers in.
   */
  setPassword(accountId: string, password: string): Promise<boolean>;
}

export function noCustomers(): Customers {
  return { setPassword: async () => false };
}
