/** What the ledger has recorded of calls, for those who show it. Calls appear seconds after they end. */
export interface UsageBooks {
  /** What each of these keys of the account was used for; those never used are missing. */
  byKey(accountId: string, keyIds: readonly string[]): Promise<KeyUsage[]>;
}

export interface KeyUsage {
  readonly keyId: string;
  readonly chargedMicroVnd: bigint;
  /** Start of its latest call. */
  readonly lastUsedAt: Date;
}
