/** The value of a parameter of a statement. */
export type Parameter = string | number | bigint | boolean | Date | Uint8Array | null;

/**
 * The ledger's database, for plugins that own tables. Each statement is one transaction, and no transaction spans
 * several. Work that must happen as a whole belongs in a function in the plugin's `migrations`.
 */
export interface Database {
  /**
   * Returns the rows of one statement with parameters `$1`, `$2`…. Columns of type bigint are BigInt. Rejects if the
   * database is unreachable, or with the database's error if it refuses the statement.
   */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
}
