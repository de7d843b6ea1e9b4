/** A number that a plugin adds to `/metrics`, the same in all processes: one that it reads from a store. */
export interface PluginGauge {
  /** No other gauge has it. */
  readonly name: string;
  readonly help: string;
  /** Returns the last reading; undefined before the first. */
  value(): number | undefined;
}

/** A counter that a plugin adds to `/metrics`, by one label. */
export interface PluginCounter {
  /** Ends with `_total`, and no other counter has it. */
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Returns the counts since the start of the plugin, by the value of the label. */
  counts(): Readonly<Record<string, number>>;
}
