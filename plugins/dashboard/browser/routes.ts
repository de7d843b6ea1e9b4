import type { IconName } from "./icons.ts";
import type { Text } from "./text.ts";

/** What a page gets: where to put itself, and how to learn that it has been left. */
export interface Place {
  readonly root: HTMLElement;
  /** The part of the path below the page's own: the id of an order. */
  readonly rest: string;
  readonly left: AbortSignal;
}

export interface PageModule {
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

/** Every page; those with an icon are in the menu, in this order. */
export const routes: readonly Route[] = [
  {
    path: "",
    title: "nav.overview",
    entry: "session",
    icon: "overview",
    inBar: true,
    load: () => import("./pages/overview.ts"),
  },
  {
    path: "/usage",
    title: "nav.usage",
    entry: "session",
    icon: "usage",
    inBar: true,
    load: () => import("./pages/usage.ts"),
  },
  {
    path: "/keys",
    title: "nav.keys",
    entry: "session",
    icon: "keys",
    load: () => import("./pages/keys.ts"),
  },
  {
    path: "/top-up",
    title: "nav.topup",
    entry: "session",
    icon: "topup",
    inBar: true,
    load: () => import("./pages/top-up.ts"),
  },
  {
    path: "/chat",
    title: "nav.chat",
    entry: "session",
    icon: "chat",
    inBar: true,
    load: () => import("./pages/chat.ts"),
  },
  {
    path: "/models",
    title: "nav.models",
    entry: "anybody",
    icon: "models",
    load: () => import("./pages/models.ts"),
  },
  {
    path: "/how-to",
    title: "nav.howto",
    entry: "anybody",
    icon: "howto",
    load: () => import("./pages/how-to.ts"),
  },
  {
    path: "/account",
    title: "nav.account",
    entry: "session",
    icon: "account",
    load: () => import("./pages/account.ts"),
  },
  {
    path: "/sign-in",
    title: "signin.title",
    entry: "visitor",
    load: () => import("./pages/sign-in.ts"),
  },
  {
    path: "/sign-up",
    title: "signup.title",
    entry: "visitor",
    load: () => import("./pages/sign-up.ts"),
  },
  {
    path: "/forgot",
    title: "forgot.title",
    entry: "anybody",
    load: () => import("./pages/forgot.ts"),
  },
  {
    path: "/reset",
    title: "reset.title",
    entry: "anybody",
    load: () => import("./pages/reset.ts"),
  },
  {
    path: "/verify",
    title: "verify.title",
    entry: "anybody",
    load: () => import("./pages/verify.ts"),
  },
];

/** The page of a path, and what the path says beyond it. */
export function findRoute(pathname: string): { route: Route; rest: string } | undefined {
  const path = pathname.slice(BASE.length).replace(/\/$/, "");
  for (const route of routes) {
    if (path === route.path) return { route, rest: "" };
    if (route.path === "/top-up" && path.startsWith("/top-up/")) {
      return { route, rest: path.slice("/top-up/".length) };
    }
  }
  return undefined;
}
