/** The requests that other plugins may make to the plugin that signs customers in. */
export interface Customers {
  /** The address that customers open, without a trailing slash; undefined if no plugin signs customers in. */
  readonly publicUrl: string | undefined;

  /**
   * Sets the password of an account's owner and marks their address as verified. Returns false if
   * no plugin signs customers in.
   */
  setPassword(accountId: string, password: string): Promise<boolean>;
}

export function noCustomers(): Customers {
  return { publicUrl: undefined, setPassword: async () => false };
}
