import type { IconName } from "./icons.ts";

/** The root element of a page, and the signal that aborts when its reader leaves the page. */
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

export interface Route<Title extends string = string> {
  /** The path below that of all pages. */
  readonly path: string;
  /** The key of its title's text. */
  readonly title: Title;
  /** Who may open the page: `visitor` needs someone who is not signed in. Without it, only who is signed in may. */
  readonly access?: "visitor" | "public";
  readonly icon?: IconName;
  /** Shows the page in the bottom bar of a phone, which has room for four. */
  readonly inBar?: boolean;
  /** Also takes one more part of the path, such as an id. */
  readonly hasParts?: boolean;
  /**
   * The paths of the API that the page reads first. Browsers that may be signed in ask for them while they load the
   * scripts, so they must be exactly what `render` asks for.
   */
  readonly reads?: readonly string[];
  load(): Promise<PageModule>;
}

/** Returns the route of a path below `base` and the rest of the path below it. */
export function findRoute(
  base: string,
  routes: readonly Route[],
  pathname: string,
): { route: Route; rest: string } | undefined {
  const path = pathname.slice(base.length).replace(/\/$/, "");
  for (const route of routes) {
    if (path === route.path) return { route, rest: "" };
    if (route.hasParts && path.startsWith(`${route.path}/`)) {
      return { route, rest: path.slice(route.path.length + 1) };
    }
  }
  return undefined;
}
