/**
 * A command that a plugin adds to `npm run admin -- …`: its words, its options, and the operator
 * route that it calls.
 *
 * It is data alone. The command line fetches it from the running gateway, so it needs neither the
 * plugin's code nor its config, and works from another machine. It prints the JSON that the route
 * returns.
 */
export interface Command {
  /**
   * The words that call it, such as `team list`: lower-case letters and hyphens, unique among all
   * commands.
   */
  readonly words: string;
  /** A description in one line, for `help`. */
  readonly about: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** The full path of the route. A part `:name` takes the value of the required option `name`. */
  readonly path: string;
  /**
   * Options in the order of `help`. Options that are not in `path` go into the body, or into the
   * query of a GET.
   */
  readonly options?: readonly CommandOption[];
  /** Names of options, exactly one of which must be given. */
  readonly oneOf?: readonly string[];
  /** Sent with every request, in addition to the options. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Fetches a list page by page. The route takes `limit`, from 1 to 1000, and `query`, whose value
   * is `field` of the last item so far. An option `limit` bounds the whole list.
   */
  readonly pages?: { readonly query: string; readonly field: string };
}

/**
 * `--name VALUE` on the command line. In the request, underscores replace the hyphens of `name`.
 */
export interface CommandOption {
  readonly name: string;
  /** The placeholder in `help`: `ID`. */
  readonly value: string;
  readonly required?: boolean;
  /**
   * `number`: whole numbers are sent as numbers. Any other text is sent as it is, and the route
   * refuses it.
   */
  readonly type?: "text" | "number";
}
