import { announce } from "./announce.ts";
import { el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { notice } from "./form.ts";
import { BASE, findRoute, type Place, type Route } from "./routes.ts";
import { currentAccount } from "./session.ts";
import { t } from "./text.ts";

/** Puts what surrounds every page into the document, and returns the element for the page itself. */
type Frame = (current: Route | undefined) => HTMLElement;

let routes: readonly Route[] = [];
let frame: Frame = () => document.body;
let leaving = new AbortController();
let pagesShown = 0;

/**
 * Follows the links of the pages without loading the document again, and shows the page of the address.
 * The table of pages and the frame are handed in: both lead back to this file, and no file may import in a ring.
 */
export function startRouter(table: readonly Route[], around: Frame): void {
  routes = table;
  frame = around;
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const isOurs = link.origin === location.origin && link.pathname.startsWith(BASE);
    // A link within the page goes where links go.
    if (!isOurs || link.target !== "" || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
  addEventListener("popstate", () => void show());
  void show();
}

/** Goes to a page; `replace` leaves no way back to the one before. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  void show();
}

/** Shows the page of the address once more: in another language, or to somebody else. */
export async function show(): Promise<void> {
  leaving.abort();
  leaving = new AbortController();
  const { signal: left } = leaving;
  const found = findRoute(routes, location.pathname);
  const { entry = "anybody" } = found?.route ?? {};
  const account = currentAccount();
  if (entry === "session" && !account) {
    const next = location.pathname + location.search;
    const query = next === BASE ? "" : `?next=${encodeURIComponent(next)}`;
    return go(`${BASE}/sign-in${query}`, { replace: true });
  }
  if (entry === "visitor" && account) return go(nextAddress(), { replace: true });
  const root = frame(found?.route);
  const title = found ? t(found.route.title) : t("notfound.title");
  document.title = `${title} · ${document.documentElement.dataset["service"] ?? ""}`;
  scrollTo(0, 0);
  try {
    if (found) await render(found, { root, rest: found.rest, left });
    else fill(root, notFound());
  } catch (error) {
    if (!left.aborted) fill(root, notice("bad", failureText(error)));
  }
  if (left.aborted) return;
  // Who does not see the page hears that there is a new one, and goes on reading from its beginning.
  // The first page is read from the top of the document, as any other is.
  const isUnfocused = document.activeElement === document.body || document.activeElement === null;
  pagesShown += 1;
  if (isUnfocused && pagesShown > 1) {
    root.focus({ preventScroll: true });
  }
  announce(title);
}

/** Where somebody wanted to go before signing in: a page of these only. */
export function nextAddress(): string {
  const next = new URLSearchParams(location.search).get("next") ?? BASE;
  const target = new URL(next, location.origin);
  const isOurs = target.origin === location.origin && findRoute(routes, target.pathname);
  return isOurs ? target.pathname + target.search : BASE;
}

async function render({ route }: NonNullable<ReturnType<typeof findRoute>>, place: Place) {
  let page: Awaited<ReturnType<typeof route.load>>;
  try {
    page = await route.load();
  } catch (error) {
    // After an update of the gateway the files of the former one are gone: its document names the new ones.
    if (sessionStorage.getItem("reloaded") === location.pathname) throw error;
    sessionStorage.setItem("reloaded", location.pathname);
    location.reload();
    return;
  }
  sessionStorage.removeItem("reloaded");
  if (!place.left.aborted) await page.render(place);
}

function notFound(): HTMLElement {
  return el(
    "div",
    { class: "empty" },
    el("h1", {}, t("notfound.title")),
    el("p", {}, t("notfound.text")),
    el("p", {}, el("a", { class: "button", href: BASE }, t("notfound.home"))),
  );
}
