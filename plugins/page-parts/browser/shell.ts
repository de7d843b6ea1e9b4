import { closeButton, closeDialogs, openDialog } from "./dialog.ts";
import { el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { useFontIfLoaded } from "./font.ts";
import { notice } from "./form.ts";
import { icon, mark } from "./icons.ts";
import { go, show } from "./router.ts";
import type { Route } from "./routes.ts";
import { orSayFailure } from "./say-failure.ts";
import type { Site } from "./site.ts";
import { currentLanguage, t, textOf } from "./text.ts";
import { currentTheme, setTheme, themes } from "./theme.ts";

/** Renders the header and the menus into the document, and returns the element for the page. */
export function showShell(site: Site, current: Route | undefined): HTMLElement {
  const main = el("main", { id: "main", tabindex: -1 });
  const app = document.getElementById("app");
  if (!app) throw new Error("the document has no place for the app");
  const skip = (event: Event) => {
    // A new fragment of the address would draw the page again.
    event.preventDefault();
    main.focus();
  };
  const isSignedIn = site.person() !== undefined;
  app.className = isSignedIn ? "app" : "app visitor";
  fill(
    app,
    el("a", { class: "skip", href: "#main", onclick: skip }, t("skip")),
    isSignedIn
      ? [sidebar(site, current), topBar(site), main, bottomBar(site, current)]
      : [header(site, current), main],
  );
  return main;
}

/** Renders the logo without menus, and returns the element for what is shown instead of a page. */
export function showBare(base: string): HTMLElement {
  const main = el("main", { id: "main", tabindex: -1 });
  const app = document.getElementById("app");
  if (!app) throw new Error("the document has no place for the app");
  app.className = "app visitor";
  closeDialogs();
  useFontIfLoaded();
  fill(app, el("header", { class: "header" }, brand(base)), main);
  return main;
}

/** Shows that nothing can be loaded, instead of a page. */
export function showTrouble(base: string, error: unknown): void {
  fill(
    showBare(base),
    el(
      "div",
      { class: "auth" },
      notice("bad", failureText(error)),
      el("button", { type: "button", onclick: () => location.reload() }, t("retry")),
    ),
  );
}

function sidebar(site: Site, current: Route | undefined): HTMLElement {
  return el(
    "aside",
    { class: "sidebar" },
    el("div", { class: "sidebar-head" }, brand(site.base), site.beside()),
    el("nav", { "aria-label": t("nav.label") }, menu(site, current)),
    accountMenu(site),
  );
}

/** The person's name; opens to language, colours and the way out. */
function accountMenu(site: Site): HTMLElement {
  const name = site.person();
  return el(
    "details",
    { class: "account-menu" },
    el("summary", { title: name }, icon("account"), el("span", {}, name), icon("more")),
    el("div", {}, preferences(site), signOutButton(site)),
  );
}

/** The top bar of a phone: the logo, what stands beside it, and the preferences. */
function topBar(site: Site): HTMLElement {
  return el("header", { class: "topbar" }, brand(site.base), site.beside(), preferences(site));
}

function bottomBar(site: Site, current: Route | undefined): HTMLElement {
  const inBar = site.routes.filter((route) => route.inBar);
  const isElsewhere = current !== undefined && !current.inBar;
  return el(
    "nav",
    { class: "bottombar", "aria-label": t("nav.label") },
    inBar.map((route) => menuLink(site, route, current)),
    el(
      "button",
      {
        type: "button",
        class: isElsewhere ? "bar-item here" : "bar-item",
        "aria-haspopup": "dialog",
        onclick: () => openMore(site, current),
      },
      icon("more"),
      el("span", {}, t("nav.more")),
    ),
  );
}

function openMore(site: Site, current: Route | undefined): void {
  const rest = site.routes.filter((route) => route.icon && !route.inBar);
  const dialog = openDialog(
    t("nav.more"),
    el(
      "div",
      { class: "menu" },
      rest.map((route) => menuLink(site, route, current)),
    ),
    el(
      "div",
      { class: "row spread" },
      signOutButton(site, () => dialog.close()),
      closeButton(),
    ),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a")) dialog.close();
  });
}

/** The header for visitors, with the public pages. */
function header(site: Site, current: Route | undefined): HTMLElement {
  const open = site.routes.filter((route) => route.icon && route.access === "public");
  return el(
    "header",
    { class: "header" },
    brand(site.base),
    el(
      "nav",
      { "aria-label": t("nav.label") },
      open.map((route) => menuLink(site, route, current)),
    ),
    el("div", { class: "row" }, preferences(site)),
    current?.access === "visitor"
      ? null
      : el("a", { class: "button primary", href: `${site.base}/sign-in` }, t("signin.title")),
  );
}

function brand(base: string): HTMLElement {
  const name = document.documentElement.dataset["service"] ?? "";
  return el("a", { class: "brand", href: base }, mark(), el("span", {}, name));
}

function menu(site: Site, current: Route | undefined): HTMLElement {
  const items = site.routes.filter((route) => route.icon);
  return el(
    "ul",
    { class: "menu" },
    items.map((route) => el("li", {}, menuLink(site, route, current))),
  );
}

function menuLink(site: Site, route: Route, current: Route | undefined): HTMLElement {
  return el(
    "a",
    { href: site.base + route.path, "aria-current": route === current ? "page" : undefined },
    route.icon && icon(route.icon),
    el("span", {}, textOf(route.title)),
  );
}

function preferences(site: Site): HTMLElement {
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
          // The page changes even if the choice cannot be saved.
          await orSayFailure(() => site.chooseLanguage(other));
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
          const updated = preferences(site);
          event.currentTarget.closest(".preferences")?.replaceWith(updated);
          updated.querySelector<HTMLElement>(".theme-switch")?.focus();
        },
      },
      icon("theme"),
      el("span", { class: "theme-name" }, t(`theme.${theme}`)),
    ),
  );
}

function signOutButton(site: Site, before: () => void = () => {}): HTMLElement {
  return el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: async () => {
        before();
        await orSayFailure(async () => {
          await site.signOut();
          go(`${site.base}/sign-in`);
        });
      },
    },
    icon("signout"),
    t("signout"),
  );
}
