/** A value of a statement's parameter. */
export type Parameter = string | number | bigint | boolean | Date | Uint8Array | null;

/**
 * The ledger's database, for plugins that own tables. One statement is one transaction, and there is none
 * that spans several: work that must happen whole is a function in the plugin's `migrations`.
 */
export interface Database {
  /** The rows of one statement with parameters `$1`, `$2`…; columns of type bigint are BigInt. Rejects while
   * the database is away, and with its error where it refuses. */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
}
