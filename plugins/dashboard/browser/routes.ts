import type { IconName } from "./icons.ts";
import type { Text } from "./text-en.ts";

/** The root element of a page, and the signal that aborts when the customer leaves the page. */
export interface PageContext {
  readonly root: HTMLElement;
  /** The rest of the path below the path of the page, such as the id of an order. */
  readonly rest: string;
  readonly signal: AbortSignal;
}

interface PageModule {
  /** Fills the root. Later changes must stop once `signal` aborts. */
  render(place: PageContext): void | Promise<void>;
}

export interface Route {
  /** The path below `/dashboard`. */
  readonly path: string;
  readonly title: Text;
  /** Who may open the page: `session` needs a signed-in customer, `visitor` a signed-out one. */
  readonly access: "session" | "visitor" | "public";
  readonly icon?: IconName;
  /** Shows the page in the bottom bar of a phone, which has room for four. */
  readonly inBar?: boolean;
  /**
   * The paths of the API that the page reads first. Browsers that may be signed in ask for them while they load the
   * scripts, so they must be exactly what `render` asks for.
   */
  readonly reads: readonly string[];
  load(): Promise<PageModule>;
}

/** The cookie of a browser in which a customer is signed in, as far as it knows. It opens nothing. */
export const SIGNED_IN_COOKIE = "tollgate_signed_in";

export const BASE = "/dashboard";

/** Returns the route of a path and the rest of the path below it. */
export function findRoute(
  routes: readonly Route[],
  pathname: string,
): { route: Route; rest: string } | undefined {
  const path = pathname.slice(BASE.length).replace(/\/$/, "");
  for (const route of routes) {
    if (path === route.path) return { route, rest: "" };
    if (route.path === "/top-up" && path.startsWith("/top-up/")) {
      return { route, rest: path.slice("/top-up/".length) };
    }
  }
  return undefined;
}
