import type { Route } from "../../page-parts/browser/routes.ts";
import type { Text } from "./text-en.ts";

/** All pages. The menu shows those with an icon, in this order. Each is the file of its path. */
export const pages: readonly Route<Text>[] = [
  {
    path: "",
    title: "nav.overview",
    icon: "overview",
    inBar: true,
    load: () => import("./pages/overview.ts"),
  },
  {
    path: "/customers",
    title: "nav.customers",
    icon: "account",
    inBar: true,
    hasParts: true,
    load: () => import("./pages/customers.ts"),
  },
  {
    path: "/calls",
    title: "nav.calls",
    icon: "calls",
    inBar: true,
    hasParts: true,
    load: () => import("./pages/calls.ts"),
  },
  {
    path: "/money",
    title: "nav.money",
    icon: "money",
    inBar: true,
    hasParts: true,
    load: () => import("./pages/money.ts"),
  },
  {
    path: "/report",
    title: "nav.report",
    icon: "usage",
    load: () => import("./pages/report.ts"),
  },
  {
    path: "/upstreams",
    title: "nav.upstreams",
    icon: "upstreams",
    load: () => import("./pages/upstreams.ts"),
  },
  {
    path: "/traffic",
    title: "traffic.title",
    load: () => import("./pages/traffic.ts"),
  },
  {
    path: "/models",
    title: "nav.models",
    icon: "models",
    hasParts: true,
    load: () => import("./pages/models.ts"),
  },
  {
    path: "/messages",
    title: "nav.messages",
    icon: "mail",
    hasParts: true,
    load: () => import("./pages/messages.ts"),
  },
  {
    path: "/books",
    title: "nav.books",
    icon: "books",
    load: () => import("./pages/books.ts"),
  },
  {
    path: "/servers",
    title: "nav.servers",
    icon: "clock",
    load: () => import("./pages/servers.ts"),
  },
  {
    path: "/approvals",
    title: "nav.approvals",
    icon: "check",
    load: () => import("./pages/approvals.ts"),
  },
  {
    path: "/operators",
    title: "nav.operators",
    icon: "keys",
    load: () => import("./pages/operators.ts"),
  },
  {
    path: "/audit",
    title: "nav.audit",
    icon: "audit",
    load: () => import("./pages/audit.ts"),
  },
  {
    path: "/search",
    title: "nav.search",
    load: () => import("./pages/search.ts"),
  },
  {
    path: "/sign-in",
    title: "signin.title",
    access: "visitor",
    load: () => import("./pages/sign-in.ts"),
  },
  {
    path: "/join",
    title: "join.title",
    access: "public",
    load: () => import("./pages/join.ts"),
  },
];
