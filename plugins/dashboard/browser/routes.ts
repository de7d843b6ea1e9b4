import type { IconName } from "./icons.ts";
import type { Text } from "./text-en.ts";

/** What a page gets: where to put itself, and how to learn that it has been left. */
export interface Place {
  readonly root: HTMLElement;
  /** The part of the path below the page's own: the id of an order. */
  readonly rest: string;
  readonly left: AbortSignal;
}

interface PageModule {
  /** Fills the root. What it shows later, it shows only while it has not been left. */
  render(place: Place): void | Promise<void>;
}

export interface Route {
  /** Below `/dashboard`. */
  readonly path: string;
  readonly title: Text;
  /** `session`: for who is signed in; `visitor`: for who is not; `anybody`. */
  readonly entry: "session" | "visitor" | "anybody";
  readonly icon?: IconName;
  /** Its place in the bar at the bottom of a phone, where there is room for four. */
  readonly inBar?: boolean;
  load(): Promise<PageModule>;
}

export const BASE = "/dashboard";

/** The route of a path, and the rest of the path below it. */
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
