/**
 * The facts by which an edit or a check sees that it changes nothing in a conversation whose turns are only text,
 * thinking and calls of tools. Plain data.
 */
export interface Turns {
  readonly count: number;
  /** Names of the fields that turns have. */
  readonly names: readonly string[];
  /** Names of the fields that calls in `tool_calls` have. */
  readonly callNames: readonly string[];
  /** Types of items and of parts of their content. */
  readonly types: readonly string[];
  /** How many turns each role has. */
  readonly roles: Readonly<Record<string, number>>;
  readonly firstRole: string | undefined;
  readonly lastRole: string | undefined;
}
