import { mountAnnouncements } from "./announce.ts";
import { ApiError, whenSignedOut, whenSuspended } from "./api.ts";
import { el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { notice } from "./form.ts";
import { show, startRouter } from "./router.ts";
import type { Route } from "./routes.ts";
import { expireSession, loadAccount } from "./session.ts";
import { showBare, showShell } from "./shell.ts";
import { mountStatusBars } from "./status-bars.ts";
import { showSuspended } from "./suspended.ts";
import { setLanguage, t } from "./text.ts";

/** All pages. The menu shows those with an icon, in this order. */
const routes: readonly Route[] = [
  {
    path: "",
    title: "nav.overview",
    access: "session",
    icon: "overview",
    inBar: true,
    load: () => import("./pages/overview.ts"),
  },
  {
    path: "/usage",
    title: "nav.usage",
    access: "session",
    icon: "usage",
    inBar: true,
    load: () => import("./pages/usage.ts"),
  },
  {
    path: "/keys",
    title: "nav.keys",
    access: "session",
    icon: "keys",
    load: () => import("./pages/keys.ts"),
  },
  {
    path: "/top-up",
    title: "nav.topup",
    access: "session",
    icon: "topup",
    inBar: true,
    load: () => import("./pages/top-up.ts"),
  },
  {
    path: "/money",
    title: "nav.money",
    access: "session",
    icon: "money",
    load: () => import("./pages/money.ts"),
  },
  {
    path: "/chat",
    title: "nav.chat",
    access: "session",
    icon: "chat",
    inBar: true,
    load: () => import("./pages/chat.ts"),
  },
  {
    path: "/models",
    title: "nav.models",
    access: "public",
    icon: "models",
    load: () => import("./pages/models.ts"),
  },
  {
    path: "/how-to",
    title: "nav.howto",
    access: "public",
    icon: "howto",
    load: () => import("./pages/how-to.ts"),
  },
  {
    path: "/account",
    title: "nav.account",
    access: "session",
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

/** Loads the texts and the account, then shows the page of the address. */
async function start(): Promise<void> {
  const language = document.documentElement.lang === "en" ? "en" : "vi";
  await setLanguage(language);
  mountAnnouncements();
  mountStatusBars();
  whenSignedOut(() => {
    expireSession();
    void show();
  });
  whenSuspended(showSuspended);
  try {
    await loadAccount();
  } catch (error) {
    const isSuspended = error instanceof ApiError && error.code === "account_suspended";
    if (!isSuspended) showTrouble(error);
    return;
  }
  startRouter(routes, (current) => showShell(routes, current));
}

/** Shows that nothing can be loaded, instead of a page. */
function showTrouble(error: unknown): void {
  fill(
    showBare(),
    el(
      "div",
      { class: "auth" },
      notice("bad", failureText(error)),
      el("button", { type: "button", onclick: () => location.reload() }, t("retry")),
    ),
  );
}

void start();
