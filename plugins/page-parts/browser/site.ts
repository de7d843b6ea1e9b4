import type { Child } from "./dom.ts";
import type { Route } from "./routes.ts";

/** The pages of a plugin, and who is signed in. */
export interface Site {
  /** The path of all pages: `/dashboard`. The page for signing in is `/sign-in` below it. */
  readonly base: string;
  readonly routes: readonly Route[];
  /** The name of the person who is signed in; undefined if there is none. */
  person(): string | undefined;
  /** Returns an element beside the logo: a balance, a search. */
  beside(): Child;
  /** Loads the texts of a language, and remembers the choice. */
  chooseLanguage(language: "vi" | "en"): Promise<void>;
  /** Ends the session. Rejects if the person stays signed in. */
  signOut(): Promise<void>;
}
