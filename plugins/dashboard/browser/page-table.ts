import type { Route } from "../../page-parts/browser/routes.ts";
import { dailySums } from "./daily-sums.ts";
import type { ShownPlugin } from "./plugins.ts";
import type { Text } from "./text-en.ts";

/** All pages. The menu shows those with an icon, in this order. Each is the file of its path. */
const pages: readonly Route<Text>[] = [
  {
    path: "",
    title: "nav.overview",
    icon: "overview",
    inBar: true,
    get reads() {
      const sums = `/usage/summary?${new URLSearchParams(dailySums())}`;
      return ["/usage?limit=5", "/wallet", sums, "/catalogue", "/promotions"];
    },
    load: () => import("./pages/overview.ts"),
  },
  {
    path: "/usage",
    title: "nav.usage",
    icon: "usage",
    inBar: true,
    reads: ["/catalogue", "/keys"],
    load: () => import("./pages/usage.ts"),
  },
  {
    path: "/keys",
    title: "nav.keys",
    icon: "keys",
    reads: ["/keys"],
    load: () => import("./pages/keys.ts"),
  },
  {
    path: "/top-up",
    hasParts: true,
    title: "nav.topup",
    icon: "topup",
    inBar: true,
    reads: ["/top-ups/settings", "/promotions"],
    load: () => import("./pages/top-up.ts"),
  },
  {
    path: "/money",
    title: "nav.money",
    icon: "money",
    load: () => import("./pages/money.ts"),
  },
  {
    path: "/statements",
    title: "statements.title",
    reads: ["/statements"],
    load: () => import("./pages/statements.ts"),
  },
  {
    path: "/chat",
    title: "nav.chat",
    icon: "chat",
    inBar: true,
    reads: ["/catalogue", "/keys"],
    load: () => import("./pages/chat.ts"),
  },
  {
    path: "/models",
    title: "nav.models",
    access: "public",
    icon: "models",
    reads: ["/catalogue"],
    load: () => import("./pages/models.ts"),
  },
  {
    path: "/how-to",
    title: "nav.howto",
    access: "public",
    icon: "howto",
    reads: ["/catalogue", "/keys"],
    load: () => import("./pages/how-to.ts"),
  },
  {
    path: "/team",
    title: "nav.team",
    icon: "team",
    reads: ["/teams"],
    load: () => import("./pages/team.ts"),
  },
  {
    path: "/account",
    title: "nav.account",
    icon: "account",
    load: () => import("./pages/account.ts"),
  },
  {
    path: "/sign-in",
    title: "signin.title",
    access: "visitor",
    load: () => import("./pages/sign-in.ts"),
  },
  {
    path: "/sign-up",
    title: "signup.title",
    access: "visitor",
    load: () => import("./pages/sign-up.ts"),
  },
  {
    path: "/forgot",
    title: "forgot.title",
    access: "public",
    load: () => import("./pages/forgot.ts"),
  },
  {
    path: "/reset",
    title: "reset.title",
    access: "public",
    load: () => import("./pages/reset.ts"),
  },
  {
    path: "/verify",
    title: "verify.title",
    access: "public",
    load: () => import("./pages/verify.ts"),
  },
];

/** Pages that show what plugins have, each with its plugins: one of them is enough. */
const OF_PLUGINS: ReadonlyMap<string, readonly ShownPlugin[]> = new Map([
  ["/statements", ["statements"]],
  ["/team", ["teams"]],
  ["/top-up", ["topup", "vouchers"]],
]);

/** Returns the pages of a gateway that has these plugins. */
export function servedPages(has: (plugin: ShownPlugin) => boolean): readonly Route<Text>[] {
  return pages.filter(({ path }) => OF_PLUGINS.get(path)?.some(has) ?? true);
}

/** The pages of a wallet, which its members do not see. */
const OF_OWNER: ReadonlySet<string> = new Set(["", "/top-up", "/money", "/statements"]);

/** Returns the pages for the wallet of another person's team, which begin with that team. */
export function pagesOfMember(served: readonly Route<Text>[]): readonly Route<Text>[] {
  const team = served.find(({ path }) => path === "/team");
  const others = served.filter(({ path }) => !OF_OWNER.has(path) && path !== "/team");
  if (!team) return others;
  const { icon: _, ...hidden } = team;
  return [{ ...team, path: "", inBar: true }, hidden, ...others];
}
