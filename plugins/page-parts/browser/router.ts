import { announce } from "./announce.ts";
import { closeDialogs } from "./dialog.ts";
import { el, fill } from "./dom.ts";
import { useFontIfLoaded } from "./font.ts";
import { notice } from "./form.ts";
import { onDemand } from "./on-demand.ts";
import { failed, waiting } from "./page-head.ts";
import { findRoute, type PageContext, type Route } from "./routes.ts";
import type { Site } from "./site.ts";
import { t, textOf } from "./text.ts";

/** Renders the header and the menu, and returns the element for the page. */
type Frame = (current: Route | undefined) => HTMLElement;

const RETRY_MS = 3_000;

let site: Site | undefined;
let frame: Frame = () => document.body;
let pageAbort = new AbortController();
let pagesShown = 0;

/**
 * Shows the page of the address, and from then on follows links between pages without a reload of the document.
 * Takes the site and the frame as parameters, because importing them here would be circular.
 */
export function startRouter(shown: Site, renderFrame: Frame): Promise<void> {
  site = shown;
  frame = renderFrame;
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const isOurs = link.origin === location.origin && isBelow(shown.base, link.pathname);
    // The browser handles links to other sites, to new windows and within the page.
    if (!isOurs || link.target !== "" || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
  addEventListener("popstate", () => void show());
  return show();
}

/** Goes to a page. `replace` overwrites the current entry of the browser history. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  void show();
}

/** Renders the page of the address, also again after a change of language or account. */
export async function show(): Promise<void> {
  pageAbort.abort();
  pageAbort = new AbortController();
  closeDialogs();
  const { signal } = pageAbort;
  if (!site) return;
  const { base, routes } = site;
  const found = findRoute(base, routes, location.pathname);
  const access = found ? found.route.access : "public";
  const isSignedIn = site.person() !== undefined;
  if (access === undefined && !isSignedIn) {
    const next = location.pathname + location.search;
    const query = next === base ? "" : `?next=${encodeURIComponent(next)}`;
    return go(`${base}/sign-in${query}`, { replace: true });
  }
  if (access === "visitor" && isSignedIn) return go(nextAddress(), { replace: true });
  useFontIfLoaded();
  const root = frame(found?.route);
  const title = textOf(found?.route.title ?? "notfound.title");
  document.title = `${title} · ${document.documentElement.dataset["service"] ?? ""}`;
  scrollTo(0, 0);
  // Until the files of the page are there.
  fill(root, el("h1", { class: found?.route.icon ? "" : "hidden" }, title), waiting());
  try {
    if (found) await render(found, { root, rest: found.rest, signal });
    else fill(root, notFound(base));
  } catch (error) {
    if (!signal.aborted)
      fill(
        root,
        el("h1", {}, title),
        failed(error, () => void show()),
      );
  }
  if (signal.aborted) return;
  // A screen reader announces the new page and continues at its start. It reads the first page by
  // itself.
  const isUnfocused = document.activeElement === document.body || document.activeElement === null;
  pagesShown += 1;
  if (isUnfocused && pagesShown > 1) {
    root.focus({ preventScroll: true });
  }
  announce(title);
}

/**
 * Returns the page that the visitor asked for before sign-in. Ignores addresses outside of these
 * pages.
 */
export function nextAddress(): string {
  const { base, routes } = site ?? { base: "/", routes: [] };
  const next = new URLSearchParams(location.search).get("next") ?? base;
  const target = new URL(next, location.origin);
  const isOurs = target.origin === location.origin && isBelow(base, target.pathname);
  return isOurs && findRoute(base, routes, target.pathname)
    ? target.pathname + target.search
    : base;
}

async function render({ route }: NonNullable<ReturnType<typeof findRoute>>, context: PageContext) {
  let page: Awaited<ReturnType<typeof route.load>>;
  try {
    page = await onDemand(route.load());
  } catch (error) {
    if (!(await isReachable())) {
      await whenReachable(context);
      if (!context.signal.aborted) await show();
      return;
    }
    // After an update of the gateway the old files are gone. A reload gets the document that names
    // the new ones.
    if (sessionStorage.getItem("reloaded") === location.pathname) throw error;
    sessionStorage.setItem("reloaded", location.pathname);
    location.reload();
    return;
  }
  sessionStorage.removeItem("reloaded");
  if (!context.signal.aborted) await page.render(context);
}

function isBelow(base: string, path: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}

function isReachable(): Promise<boolean> {
  const ask = fetch(site?.base ?? "/", { method: "GET", cache: "no-store" });
  return ask.then(
    () => true,
    () => false,
  );
}

/** Says that the page cannot be loaded, until it can be or the reader goes elsewhere. */
async function whenReachable({ root, signal }: PageContext): Promise<void> {
  fill(
    root,
    el("h1", {}, document.title.split(" · ")[0]),
    notice("bad", t("error.0"), el("p", { class: "hint" }, t("offline.waiting"))),
  );
  do {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        removeEventListener("online", done);
        resolve();
      };
      const timer = setTimeout(done, RETRY_MS);
      addEventListener("online", done);
      signal.addEventListener("abort", done, { once: true });
    });
  } while (!signal.aborted && !(await isReachable()));
}

function notFound(base: string): HTMLElement {
  return el(
    "div",
    { class: "empty" },
    el("h1", {}, t("notfound.title")),
    el("p", {}, t("notfound.text")),
    el("p", {}, el("a", { class: "button", href: base }, t("notfound.home"))),
  );
}
