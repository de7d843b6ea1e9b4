import type { Route } from "../../page-parts/browser/routes.ts";
import type { Text } from "./text-en.ts";

/** All pages. The menu shows those with an icon, in this order. Each is the file of its path. */
export const pages: readonly Route<Text>[] = [
  {
    path: "",
    title: "nav.overview",
    access: "session",
    icon: "overview",
    inBar: true,
    reads: [],
    load: () => import("./pages/overview.ts"),
  },
  {
    path: "/customers",
    title: "nav.customers",
    access: "session",
    icon: "account",
    inBar: true,
    hasParts: true,
    reads: [],
    load: () => import("./pages/customers.ts"),
  },
  {
    path: "/calls",
    title: "nav.calls",
    access: "session",
    icon: "usage",
    inBar: true,
    hasParts: true,
    reads: [],
    load: () => import("./pages/calls.ts"),
  },
  {
    path: "/search",
    title: "nav.search",
    access: "session",
    reads: [],
    load: () => import("./pages/search.ts"),
  },
  {
    path: "/sign-in",
    title: "signin.title",
    access: "visitor",
    reads: [],
    load: () => import("./pages/sign-in.ts"),
  },
];
