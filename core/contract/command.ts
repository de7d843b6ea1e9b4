/**
 * A command that a plugin adds to `npm run admin -- …`: its words, its options, and the operator's route that it calls.
 * It is data alone. The command line asks the running gateway for it, so it needs no code or config of the plugin, and
 * works from another machine. It prints the route's JSON.
 */
export interface Command {
  /** What it is called by, `team list`: words of lower-case letters and hyphens. No two commands share them. */
  readonly words: string;
  /** One line for `help`. */
  readonly about: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** The whole path of the route. A part `:name` is the value of the required option `name`. */
  readonly path: string;
  /** In the order of `help`. Sent in the body, or in the query of a GET, unless they are in the path. */
  readonly options?: readonly CommandOption[];
  /** Names of options of which exactly one must be given. */
  readonly oneOf?: readonly string[];
  /** Sent with every request, beside the options. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Fetches a list page by page. The route takes `limit`, 1 to 1000, and `query`, which is `field` of the last item so
   * far. An option `limit` bounds the whole list.
   */
  readonly pages?: { readonly query: string; readonly field: string };
}

/** `--name VALUE` on the command line; `name` in the request, with underscores for hyphens. */
export interface CommandOption {
  readonly name: string;
  /** What `help` shows for a value: `ID`. */
  readonly value: string;
  readonly required?: boolean;
  /** `number`: sent as a number. Other text than a whole number is sent as it is, for the route to refuse. */
  readonly type?: "text" | "number";
}
