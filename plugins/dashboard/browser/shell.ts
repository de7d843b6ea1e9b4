import { post } from "./api.ts";
import { balanceLink, forgetWallet } from "./balance.ts";
import { openDialog } from "./dialog.ts";
import { el, fill } from "./dom.ts";
import { useFontIfLoaded } from "./font.ts";
import { icon, mark } from "./icons.ts";
import { go, show } from "./router.ts";
import { BASE, type Route } from "./routes.ts";
import { chooseLanguage, currentAccount, forgetAccount } from "./session.ts";
import { currentLanguage, t } from "./text.ts";
import { currentTheme, setTheme, themes } from "./theme.ts";

/** Renders the header and the menus into the document, and returns the element for the page. */
export function showShell(routes: readonly Route[], current: Route | undefined): HTMLElement {
  const main = el("main", { id: "main", tabindex: -1 });
  const app = document.getElementById("app");
  if (!app) throw new Error("the document has no place for the app");
  const isCustomer = currentAccount() !== undefined;
  forgetWallet();
  app.className = isCustomer ? "app" : "app visitor";
  fill(
    app,
    el("a", { class: "skip", href: "#main", onclick: () => main.focus() }, t("skip")),
    isCustomer
      ? [sidebar(routes, current), topBar(), main, bottomBar(routes, current)]
      : [header(routes, current), main],
  );
  return main;
}

/** Renders the logo without menus, and returns the element for what is shown instead of a page. */
export function showBare(): HTMLElement {
  const main = el("main", { id: "main", tabindex: -1 });
  const app = document.getElementById("app");
  if (!app) throw new Error("the document has no place for the app");
  app.className = "app visitor";
  useFontIfLoaded();
  fill(app, el("header", { class: "header" }, brand()), main);
  return main;
}

function sidebar(routes: readonly Route[], current: Route | undefined): HTMLElement {
  return el(
    "aside",
    { class: "sidebar" },
    el("div", { class: "sidebar-head" }, brand(), balanceLink()),
    el("nav", { "aria-label": t("nav.label") }, menu(routes, current)),
    accountMenu(),
  );
}

/** The customer's address; opens to language, colours and the way out. */
function accountMenu(): HTMLElement {
  const email = currentAccount()?.email ?? "";
  return el(
    "details",
    { class: "account-menu" },
    el("summary", { title: email }, icon("account"), el("span", {}, email), icon("more")),
    el("div", {}, preferences(), signOutButton()),
  );
}

/** The top bar of a phone: the logo, the balance and the preferences. */
function topBar(): HTMLElement {
  return el("header", { class: "topbar" }, brand(), balanceLink(), preferences());
}

function bottomBar(routes: readonly Route[], current: Route | undefined): HTMLElement {
  const inBar = routes.filter((route) => route.inBar);
  const isElsewhere = current !== undefined && !current.inBar;
  return el(
    "nav",
    { class: "bottombar", "aria-label": t("nav.label") },
    inBar.map((route) => menuLink(route, current)),
    el(
      "button",
      {
        type: "button",
        class: isElsewhere ? "bar-item here" : "bar-item",
        "aria-haspopup": "dialog",
        onclick: () => openMore(routes, current),
      },
      icon("more"),
      el("span", {}, t("nav.more")),
    ),
  );
}

function openMore(routes: readonly Route[], current: Route | undefined): void {
  const rest = routes.filter((route) => route.icon && !route.inBar);
  const dialog = openDialog(
    t("nav.more"),
    el(
      "div",
      { class: "menu" },
      rest.map((route) => menuLink(route, current)),
    ),
    el(
      "div",
      { class: "row spread" },
      signOutButton(() => dialog.close()),
      el("button", { type: "button", onclick: () => dialog.close() }, t("close")),
    ),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a")) dialog.close();
  });
}

/** The header for visitors, with the public pages. */
function header(routes: readonly Route[], current: Route | undefined): HTMLElement {
  const open = routes.filter((route) => route.icon && route.access === "public");
  return el(
    "header",
    { class: "header" },
    brand(),
    el(
      "nav",
      { "aria-label": t("nav.label") },
      open.map((route) => menuLink(route, current)),
    ),
    el("div", { class: "row" }, preferences()),
    current?.access === "visitor"
      ? null
      : el("a", { class: "button primary", href: `${BASE}/sign-in` }, t("signin.title")),
  );
}

function brand(): HTMLElement {
  const name = document.documentElement.dataset["service"] ?? "";
  return el("a", { class: "brand", href: BASE }, mark(), el("span", {}, name));
}

function menu(routes: readonly Route[], current: Route | undefined): HTMLElement {
  const items = routes.filter((route) => route.icon);
  return el(
    "ul",
    { class: "menu" },
    items.map((route) => el("li", {}, menuLink(route, current))),
  );
}

function menuLink(route: Route, current: Route | undefined): HTMLElement {
  return el(
    "a",
    { href: BASE + route.path, "aria-current": route === current ? "page" : undefined },
    route.icon && icon(route.icon),
    el("span", {}, t(route.title)),
  );
}

function preferences(): HTMLElement {
  const other = currentLanguage() === "vi" ? "en" : "vi";
  const theme = currentTheme();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto";
  return el(
    "div",
    { class: "preferences" },
    el(
      "button",
      {
        type: "button",
        class: "quiet language",
        lang: other,
        onclick: async () => {
          await chooseLanguage(other).catch(() => {});
          await show();
        },
      },
      icon("language"),
      el("span", {}, other === "vi" ? "Tiếng Việt" : "English"),
    ),
    el(
      "button",
      {
        type: "button",
        class: "quiet theme-switch",
        "aria-label": `${t("theme")}: ${t(`theme.${theme}`)}`,
        title: `${t("theme")}: ${t(`theme.${theme}`)}`,
        onclick: (event) => {
          setTheme(next);
          if (!(event.currentTarget instanceof HTMLElement)) return;
          const updated = preferences();
          event.currentTarget.closest(".preferences")?.replaceWith(updated);
          updated.querySelector<HTMLElement>(".theme-switch")?.focus();
        },
      },
      icon("theme"),
      el("span", { class: "theme-name" }, t(`theme.${theme}`)),
    ),
  );
}

function signOutButton(before: () => void = () => {}): HTMLElement {
  return el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: async () => {
        before();
        await post("/sign-out").catch(() => {});
        forgetAccount();
        go(`${BASE}/sign-in`);
      },
    },
    icon("signout"),
    t("signout"),
  );
}
