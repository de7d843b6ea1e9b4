/** A value of a statement's parameter. */
export type Parameter = string | number | bigint | boolean | Date | Uint8Array | null;

/**
 * The ledger's database, for plugins that own tables. One statement is one transaction, and there is none
 * that spans several: work that must happen whole is a function in the plugin's migrations.
 */
export interface Database {
  /** The rows of one statement with parameters `$1`, `$2`…; columns of type bigint are BigInt. Rejects while
   * the database is away, and with its error where it refuses: `sqlState` (ledger/client.ts) names it. */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
  /**
   * Applies what is new in a plugin's folder of migrations (`plugins/NAME/migrations/0001-….sql`), under a
   * lock, so that any number of processes may start at once.
   */
  migrate(plugin: string): Promise<void>;
}
